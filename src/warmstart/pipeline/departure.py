"""Where a learned policy departs from logging on its training window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.results import MOST_ACTIONS, ActionShare, Departure

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.reward import Examples


def departure_of(
    examples: Examples, scores: NDArray[Any], best: NDArray[Any], actions: pa.Array, factors: NDArray[Any]
) -> Departure:
    """Compare a policy's choices with what logging showed.

    Args:
        examples: The cells of the training window.
        scores: The expected reward of every cell.
        best: The cells that are chosen, one a context.
        actions: The names of actions, by number.
        factors: Of actions: actual over expected rewards.
    """
    n, context_n, total = examples.n, examples.context_n, float(examples.n.sum())
    # Of actions that were shown equally often none was shown more than the choice.
    most = np.zeros(int(examples.contexts.max()) + 1)
    np.maximum.at(most, examples.contexts, n)
    departs = n[best] < most[examples.contexts[best]]
    decided = np.zeros(len(most), dtype=bool)
    decided[examples.contexts[best]] = True
    inside = decided[examples.contexts]
    traffic = float(n[inside].sum())
    kinds = np.bincount(examples.contexts)
    return Departure(
        same=float(n[best].sum()) / total,
        departs=float(context_n[best][departs].sum()) / total,
        contexts=int(departs.sum()),
        one_action=float(n[kinds[examples.contexts] == 1].sum()) / total,
        undecided=max(1 - traffic / total, 0.0),
        expected=float((context_n[best] * scores[best]).sum()) / traffic,
        expected_of_logging=float((n * scores)[inside].sum()) / traffic,
        mean_reward=float(examples.reward_sum[inside].sum()) / traffic,
        actions=_shares(examples, best, actions, factors),
    )


def _shares(
    examples: Examples, best: NDArray[Any], actions: pa.Array, factors: NDArray[Any]
) -> tuple[ActionShare, ...]:
    """Return the actions whose shares of the traffic differ most, the largest change first."""
    total, size = float(examples.n.sum()), len(actions)
    logging = np.bincount(examples.actions, examples.n, size) / total
    policy = np.bincount(examples.actions[best], examples.context_n[best], size) / total
    places = np.argsort(-np.abs(policy - logging), kind="stable")[:MOST_ACTIONS]
    return tuple(
        ActionShare(str(actions[int(i)].as_py()), float(logging[i]), float(policy[i]), float(factors[i]))
        for i in places
    )
