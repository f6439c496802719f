"""Choose the kind of reward model by what the policies earn, or how well rewards are predicted, on later events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from warmstart.core import Progress, UsageError
from warmstart.reward.examples import Examples
from warmstart.reward.learner import LearnedRewards, Learner, greedy_weights
from warmstart.reward.models import MODELS, ModelName

# Values decide where at least this share of the later events is in contexts of the earlier ones.
SHARE_TO_COMPARE_VALUES = 0.5
# Predictions that are 0 or 1 are moved inside by this share of the mean reward.
INSIDE = 0.01


@dataclass(frozen=True)
class Tried:
    """A kind of model that was tried: its clipped value and its loss on later events, and the seconds it took.

    ``why``: why it could not be learned, if so.
    """

    value: float | None
    loss: float | None
    seconds: float
    why: str | None = None


def compare_models(
    learner_of: Callable[[ModelName], Learner],
    earlier: Examples,
    later: Examples,
    *,
    tau: float,
    time_budget: float | None,
    on_progress: Progress,
) -> tuple[ModelName, str, dict[str, Tried]]:
    """Return the best kind, by what it was chosen ("value" or "loss"), and what was found of every kind.

    Where contexts come back, the best is that with the highest clipped value on later events; where they do not, it
    is that with the least log-loss there, of predictions from features and factors of actions.

    Args:
        learner_of: makes the learner of a kind.
        earlier: cells to learn from.
        later: cells to judge by.
        tau: the fit's tau, for all.
        time_budget: no further kind is begun after so many seconds; None: all are tried.
        on_progress: called with the step and the share that is done.
    """
    begun, found = time.perf_counter(), dict[str, Tried]()
    for number, kind in enumerate(MODELS):
        if found and time_budget is not None and time.perf_counter() - begun > time_budget:
            break
        on_progress("comparing models", number / len(MODELS), kind)
        start = time.perf_counter()
        learner = learner_of(kind)
        try:
            learned = learner.learn(earlier, tau)
        except UsageError as error:
            found[kind] = Tried(None, None, time.perf_counter() - start, str(error))
            continue
        weights = greedy_weights(earlier, learned.scores, later, len(learner.a))
        value = float((weights * later.reward_sum).sum() / later.n.sum())
        found[kind] = Tried(value, _log_loss(learner, learned, later), time.perf_counter() - start)
    back = np.isin(later.contexts, earlier.contexts)
    by = "value" if later.n[back].sum() >= SHARE_TO_COMPARE_VALUES * later.n.sum() else "loss"
    return _best(found, by), by, found


def _best(found: Mapping[str, Tried], by: str) -> ModelName:
    def rank(kind: ModelName) -> float:
        tried = found[kind]
        return -np.inf if tried.value is None or tried.loss is None else tried.value if by == "value" else -tried.loss

    return max((kind for kind in MODELS if kind in found), key=rank)


def _log_loss(learner: Learner, learned: LearnedRewards, later: Examples) -> float:
    """Return the mean log-loss of what the policy would predict for a context that it has not seen."""
    assert learned.model is not None
    predicted = learned.model.predict(later.contexts, later.actions, learner.x, learner.a)
    mean = float(later.reward_sum.sum() / later.n.sum())
    inside = INSIDE * min(mean, 1 - mean) + 1e-9
    p = np.clip(np.maximum(predicted, learned.lowest) * learned.factors[later.actions], inside, 1 - inside)
    loss = later.reward_sum * np.log(p) + (later.n - later.reward_sum) * np.log(1 - p)
    return float(-loss.sum() / later.n.sum())
