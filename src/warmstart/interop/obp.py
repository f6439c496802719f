"""Open Bandit Pipeline's bandit feedback, a dict of arrays: in and out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from warmstart.core import ACTION, PROBABILITY, PROPENSITY, REWARD, DataError, UsageError, __version__, counted, quoted
from warmstart.engine import open_source
from warmstart.events import Events, counted_propensity, open_cells
from warmstart.interop.features import md5_key
from warmstart.interop.propensities import CLIPPED, Source, check_export, in_time_order, with_propensities
from warmstart.interop.records import CostRange, costs_of_rewards
from warmstart.results import ImportedTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.events import Cells

# A dense array of events x actions above this many numbers is refused: 800 MB.
LARGEST = 100_000_000


def from_obp(
    feedback: Mapping[str, Any], *, action_dist: Any = None, reward_range: tuple[float, float] | None = None
) -> ImportedTables:
    """Return Open Bandit Pipeline's ``bandit_feedback`` as tables of events, contexts and actions.

    Rows of ``context`` that are equal are one context; its numbers are columns ``x_0, x_1, ...`` of events and of
    contexts, those of ``action_context`` columns of actions. ``pscore``, where there is one, becomes ``propensity``.
    ``action_dist``, a policy's distribution in every round, becomes ``decisions``: the mean over a context's rounds.
    Rewards outside [0, 1] are scaled by ``reward_range``, or by the range of the rewards.

    >>> feedback = {"context": [[0.5], [0.5]], "action": [0, 1], "reward": [1, 0], "pscore": [0.5, 0.5], "n_actions": 2}
    >>> from_obp(feedback).events.select(["action", "reward", "propensity", "x_0"]).to_pylist()[0]
    {'action': 0, 'reward': 1.0, 'propensity': 0.5, 'x_0': 0.5}
    """
    action = _column(feedback, ACTION)
    rounds = len(action)
    if not rounds or np.any(action != np.floor(action)) or np.any(action < 0):
        raise DataError("The actions of the feedback are not numbers from 0 on.")
    context = _matrix(feedback, "context", rounds)
    reward = _column(feedback, REWARD, rounds)
    position = _column(feedback, "position", rounds, optional=True)
    pscore = _column(feedback, "pscore", rounds, optional=True)
    if pscore is not None and not np.all((pscore > 0) & (pscore <= 1)):
        raise DataError("There are pscores outside (0, 1].", "Leave pscore out to have propensities estimated.")
    scale = CostRange.choose(-float(reward.max()), -float(reward.min()), costs_of_rewards(reward_range))
    unique, inverse = np.unique(context, axis=0, return_inverse=True)
    keys = np.array([md5_key(",".join(map(repr, row.tolist()))) for row in unique])
    inverse = inverse.ravel()
    events = {
        "context": keys[inverse].tolist(),
        ACTION: action.astype(np.int64).tolist(),
        REWARD: ((scale.high + reward) / (scale.high - scale.low)).tolist(),
        **({} if pscore is None else {PROPENSITY: pscore.tolist()}),
        **({} if position is None else {"position": position.astype(np.int64).tolist()}),
        **_numbered_columns("x", context),
    }
    about = {"from": "obp feedback", "events": rounds, "costs": scale.to_dict(), "warmstart_version": __version__}
    contexts = pa.table({"context": keys.tolist(), **_numbered_columns("x", unique)})
    decisions = None if action_dist is None else _decisions(action_dist, keys, inverse)
    return ImportedTables(pa.table(events), contexts, _actions(feedback, int(action.max()) + 1), about, decisions)


def to_obp(events: Events, *, tau: float, policy: Any = None, propensities: Source = "auto") -> dict[str, Any]:
    """Return a window as Open Bandit Pipeline's dict of arrays, for small sets of actions: its arrays are dense.

    ``pscore`` is max(propensity, tau). In ``context``, columns of numbers stay and others are one-hot encoded.
    ``action`` counts from 0 in the order of ``actions``, which is added. ``action_dist`` (rounds x actions x 1) is that
    of the policy.

    Args:
        events: the window to return.
        tau: the clipping constant of propensities, in (0, 1].
        policy: a table of decisions (``policy_table`` makes one of any policy); without one, the logging policy.
        propensities: "counts", "logged", or "auto": logged ones if the log has them.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "p", "p", "q"], "ad": ["a", "b", "a", "a"], "click": [1, 0, 1, 0]})
    >>> feedback = ws.to_obp(ws.read_events(log, context="page", action="ad", reward="click"), tau=0.05)
    >>> sorted(feedback["pscore"].round(2).tolist())
    [0.33, 0.67, 0.67, 1.0]
    """
    source = check_export(events, propensities, tau)
    with open_cells(events) as cells:
        keys = cells.columns.context_keys
        ordered = in_time_order(with_propensities(cells, tau=tau, source=source), cells.columns.keys)
        rows = cells.engine.fetch_arrow(ordered)
        actions = sorted(set(rows[ACTION].to_pylist()))
        if len(actions) * rows.num_rows > LARGEST:
            size = f"{counted(rows.num_rows, 'event')} by {counted(len(actions), 'action')}"
            raise UsageError(f"{size} is too large a dense array.", "Export to vw-adf, dsjson or parquet instead.")
        numbers = {action: i for i, action in enumerate(actions)}
        contexts = zip(*(rows[key].to_pylist() for key in keys), strict=True)
        distributions = _distributions(cells, policy)
        dist = np.zeros((rows.num_rows, len(actions), 1))
        for i, context in enumerate(contexts):
            for action, probability in distributions.get(context, ()):
                if action in numbers:
                    dist[i, numbers[action], 0] = probability
    return {
        "n_rounds": rows.num_rows,
        "n_actions": len(actions),
        "context": _one_hot(rows, keys),
        "action": np.array([numbers[action] for action in rows[ACTION].to_pylist()], dtype=np.int64),
        "position": None,
        "reward": np.array(rows[REWARD].to_pylist(), dtype=np.float64),
        "pscore": np.array(rows[CLIPPED].to_pylist(), dtype=np.float64),
        "action_dist": dist,
        "actions": actions,
    }


def _distributions(cells: Cells, policy: Any) -> Mapping[tuple[Any, ...], list[tuple[Any, float]]]:
    """Return the actions of each context with their probabilities, by the policy or else the logging policy."""
    columns, shown = cells.columns, cells.table.filter(cells.table.n > 0)
    if policy is None:
        rows = shown.select(*columns.keys, **{PROBABILITY: counted_propensity(shown)})
    else:
        given = {fixed: columns.fixed_to_given[fixed] for fixed in columns.keys}
        rows = open_source(cells.engine, policy, given | {PROBABILITY: PROBABILITY})
    distributions = defaultdict(list)
    for row in cells.engine.fetch(rows):
        context = tuple(row[key] for key in columns.context_keys)
        distributions[context].append((row[ACTION], float(row[PROBABILITY])))
    return distributions


def _one_hot(rows: pa.Table, keys: tuple[str, ...]) -> NDArray[np.float64]:
    from pyarrow import types

    parts = []
    for key in keys:
        values = rows[key].to_pylist()
        if types.is_floating(rows[key].type) or types.is_integer(rows[key].type):
            parts.append(np.array(values, dtype=np.float64)[:, None])
            continue
        names, codes = np.unique(np.array(values, dtype=object), return_inverse=True)
        if len(names) * len(values) > LARGEST:
            raise UsageError(f"{counted(len(names), 'context')} are too many for a dense array.", "Export instead.")
        parts.append((codes[:, None] == np.arange(len(names))).astype(np.float64))
    return np.hstack(parts)


def _column(feedback: Mapping[str, Any], name: str, rounds: int | None = None, *, optional: bool = False) -> Any:
    values = feedback.get(name)
    if values is None and optional:
        return None
    if values is None:
        raise DataError(f"The feedback has no {quoted(name)}.", f"It has {', '.join(map(quoted, feedback)) or 'none'}.")
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or (rounds is not None and len(array) != rounds) or not np.isfinite(array).all():
        raise DataError(f"{quoted(name)} is not one finite number a round.")
    return array


def _matrix(feedback: Mapping[str, Any], name: str, rows: int) -> NDArray[np.float64]:
    values = feedback.get(name)
    array = np.zeros((rows, 0)) if values is None else np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or len(array) != rows or not np.isfinite(array).all():
        raise DataError(f"{quoted(name)} is not a row of finite numbers for each of {rows:,}.")
    return array + 0.0


def _numbered_columns(prefix: str, matrix: NDArray[np.float64]) -> dict[str, list[float]]:
    return {f"{prefix}_{i}": matrix[:, i].tolist() for i in range(matrix.shape[1])}


def _actions(feedback: Mapping[str, Any], shown: int) -> pa.Table:
    count = int(feedback.get("n_actions") or shown)
    if count < shown:
        raise DataError(f"n_actions is {count}, and there is an action {shown - 1}.")
    features = _matrix(feedback, "action_context", count)
    return pa.table({ACTION: list(range(count)), **_numbered_columns("a", features)})


def _decisions(action_dist: Any, keys: NDArray[Any], inverse: NDArray[Any]) -> pa.Table:
    dist, rounds = np.asarray(action_dist, dtype=np.float64), len(inverse)
    if dist.ndim == 3 and dist.shape[2] == 1:
        dist = dist[:, :, 0]
    if dist.ndim != 2 or len(dist) != rounds:
        hint = f"It must be ({rounds}, actions) or ({rounds}, actions, 1)."
        raise UsageError(f"action_dist has the shape {dist.shape}.", hint)
    sums = np.zeros((len(keys), dist.shape[1]))
    np.add.at(sums, inverse, dist)
    means = sums / np.bincount(inverse, minlength=len(keys))[:, None]
    context, action = np.nonzero(means)
    probability = means[context, action].tolist()
    return pa.table({"context": keys[context].tolist(), ACTION: action.tolist(), PROBABILITY: probability})
