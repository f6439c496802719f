"""Where a learned policy departs from logging on its training window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.results import MOST_ACTIONS, ActionShare, Departure, Driver

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.reward import Examples, LearnedRewards

# Expectations below this share of the mean reward are raised to it before they are compared.
LOWEST_SHARE = 0.2


def departure_of(examples: Examples, learned: LearnedRewards, best: NDArray[Any], actions: pa.Array) -> Departure:
    """Compare a policy's choices with what logging showed.

    Args:
        examples: The cells of the training window.
        learned: What was learned from them.
        best: The cells that are chosen, one a context.
        actions: The names of actions, by number.
    """
    scores, factors = learned.scores, learned.factors
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
        drivers=_drivers(examples, learned, best[departs], most),
    )


def _drivers(examples: Examples, learned: LearnedRewards, best: NDArray[Any], most: NDArray[Any]) -> tuple[Driver, ...]:
    """Divide how much more is expected of the choices than of what was shown most, where these differ.

    An expectation is a product: of what the action gets on average over its contexts, of how the model says that it
    fits this one, and of the rest, which is what the action got here before. So are ratios of expectations.
    """
    if not len(best):
        return ()
    by_action, n, total = examples.actions, examples.n, examples.n.sum()
    least = LOWEST_SHARE * examples.reward_sum.sum() / total
    predicted = np.maximum(learned.predictions, least).astype(np.float64)
    size = len(learned.factors)
    mean = np.bincount(by_action, n * predicted, size) / np.maximum(np.bincount(by_action, n, size), 1)
    shown_most = np.zeros(len(most), dtype=np.int64)
    places = np.flatnonzero(n == most[examples.contexts])
    shown_most[examples.contexts[places]] = places
    other = shown_most[examples.contexts[best]]

    def ratio(cells: NDArray[Any]) -> NDArray[Any]:
        """Return the logarithm of what cells have of the choice, over the same of what was shown most."""
        result: NDArray[Any] = np.log(cells[best]) - np.log(cells[other])
        return result

    whole = ratio(np.maximum(learned.scores, least))
    action = ratio(np.maximum((mean * learned.factors)[by_action], least))
    match = ratio(predicted / mean[by_action])
    parts = np.stack([action, match, whole - action - match])
    weights = examples.context_n[best] / examples.context_n[best].sum()
    largest = np.bincount(parts.argmax(axis=0), weights, len(parts))
    times = np.exp(parts @ weights)
    numbers = [(float(factor), min(float(share), 1.0)) for factor, share in zip(times, largest, strict=True)]
    return Driver("action", *numbers[0]), Driver("match", *numbers[1]), Driver("record", *numbers[2])


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
