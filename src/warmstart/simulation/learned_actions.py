"""A log of a table world whose logging policy learns: actions and rewards, period by period."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import MICROSECONDS_PER_DAY
from warmstart.simulation.learners import Learner, LearnerSettings

# From a part of the events and their actions to their rewards.
Rewards = Callable[[slice, "NDArray[np.int64]"], "NDArray[Any]"]


def learned_actions(
    settings: LearnerSettings,
    logging: NDArray[np.float64],
    x: NDArray[np.int64],
    time: NDArray[np.int64],
    *,
    rewards: Rewards,
    keepers: NDArray[np.int32] | None,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the actions and rewards of events.

    Args:
        settings: What learns.
        logging: By day, context and action: the policy of the first period; 0 where an action is not available.
        x: The context of every event.
        time: Its time, in order, in microseconds since the first midnight.
        rewards: Draws the rewards of a part of the events.
        keepers: The user of every event, if users keep the action of their first visit where it is available.
        rng: The source of actions.
    """
    contexts, actions = logging.shape[1:]
    learner = Learner(settings, np.tile(np.arange(actions), (contexts, 1)))
    kept = np.full(0 if keepers is None else int(keepers.max()) + 1, -1)
    preference = logging.mean(axis=0)
    shown, earned = np.empty(len(x), dtype=np.int64), np.empty(len(x))
    for period, part in settings.parts(time):
        learner.begin(period)
        policy = logging[time[part] // MICROSECONDS_PER_DAY, x[part]]
        if learner.has_learned:
            chosen = learner.choose(x[part], policy > 0, preference[x[part]], rng)
        else:
            thresholds = policy.cumsum(axis=1)
            chosen = (rng.random((len(policy), 1)) * thresholds[:, -1:] >= thresholds).sum(axis=1)
        if keepers is not None:
            chosen = _kept_where_available(kept, keepers[part], chosen, policy > 0)
        shown[part], earned[part] = chosen, rewards(part, chosen)
        learner.observe(x[part], chosen, earned[part])
    return shown, earned


def _kept_where_available(
    kept: NDArray[np.int64], users: NDArray[np.int32], chosen: NDArray[np.int64], available: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return what users are shown; remember in ``kept`` the actions of those who come for the first time."""
    who, first = np.unique(users, return_index=True)
    new = kept[who] < 0
    kept[who[new]] = chosen[first[new]]
    own = kept[users]
    return np.where(available[np.arange(len(own)), own], own, chosen)
