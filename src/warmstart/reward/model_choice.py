"""Choose the kind of reward model by what the policies earn, and how well rewards are predicted, on later events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warmstart.core import Progress, UsageError
from warmstart.reward.blend import Shares, blended
from warmstart.reward.budget import Budget
from warmstart.reward.examples import Examples
from warmstart.reward.learner import Learner
from warmstart.reward.models import BLEND, CHEAPEST_FIRST, MODELS, ModelName
from warmstart.reward.trial import Division, Trial, events_of, try_out

# Values decide where at least this share of the later events is in contexts of the earlier ones.
SHARE_TO_COMPARE_VALUES = 0.5
# A value that is lower by no more than so many standard errors is as good; of those that are, losses decide.
AS_GOOD = 2.0
# A blend takes the time of all its kinds: its loss must be less by this share.
LESS = 1e-3


@dataclass(frozen=True)
class Tried:
    """A kind of model that was tried: its clipped value and its loss on later events, and the seconds it took.

    ``why``: why it could not be learned, if so.
    """

    value: float | None
    loss: float | None
    seconds: float
    why: str | None = None


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """The best kind and its trial, by what it was chosen ("value" or "loss"), and what was found of every kind.

    ``shares``: of the kinds, if the best is a blend of several; ``kind`` is then the one with the largest.
    """

    kind: ModelName
    trial: Trial
    shares: Shares
    by: str
    tried: dict[str, Tried]


def choose_model(
    learner_of: Callable[[ModelName], Learner],
    divisions: Sequence[Division],
    *,
    tau: float,
    budget: Budget,
    on_progress: Progress,
) -> ModelChoice:
    """Return the best kind of model, or the best blend of several.

    The best has the least log-loss on later events. Where contexts come back, it is one of those whose clipped value
    there is not clearly below the highest. A blend, the mean of their predictions by shares, is one of them.

    Args:
        learner_of: makes the learner of a kind.
        divisions: pairs of cells to learn from and cells to judge by.
        tau: the fit's tau, for all.
        budget: the seconds for this and for learning the best: kinds that take longer are left out.
        on_progress: called with the step and the share that is done.
    """
    later = [late for _, late in divisions]
    trials, why = _tried(learner_of, divisions, tau, budget, on_progress)
    tried: dict[str, Tried] = {kind: why[kind] for kind in MODELS if kind in why}
    for kind, trial in trials.items():
        tried[kind] = Tried(trial.value(later), trial.loss(later), budget.costs[kind])
    by = "value" if _share_that_comes_back(divisions) >= SHARE_TO_COMPARE_VALUES else "loss"
    best = _best(_learnable(trials, budget), later, by)
    start = time.perf_counter()
    if (blend := blended(trials)) is None:
        return ModelChoice(best, trials[best], {}, by, tried)
    shares, trial = blend
    if lacking := budget.lacks_time_to_learn(list(shares)):
        tried[BLEND] = Tried(None, None, time.perf_counter() - start, lacking)
        return ModelChoice(best, trials[best], {}, by, tried)
    tried[BLEND] = Tried(trial.value(later), trial.loss(later), time.perf_counter() - start)
    if not _is_better(trial, trials[best], later, by):
        return ModelChoice(best, trials[best], {}, by, tried)
    return ModelChoice(max(shares, key=lambda kind: shares[kind]), trial, shares, by, tried)


def _tried(
    learner_of: Callable[[ModelName], Learner],
    divisions: Sequence[Division],
    tau: float,
    budget: Budget,
    on_progress: Progress,
) -> tuple[dict[ModelName, Trial], dict[str, Tried]]:
    """Return the trials of all kinds that suit the log and the budget, and of all others why they do not."""
    trials, others = dict[ModelName, Trial](), dict[str, Tried]()
    for number, kind in enumerate(CHEAPEST_FIRST):
        on_progress("comparing models", number / len(CHEAPEST_FIRST), kind)
        start = time.perf_counter()
        try:
            lacking = budget.lacks_time(learner_of(kind), divisions, tau)
            start = time.perf_counter() if lacking is None else start
            if lacking is None:
                trials[kind] = try_out(learner_of(kind), divisions, tau)
                budget.costs[kind] = time.perf_counter() - start
        except UsageError as error:
            lacking = str(error)
        if lacking is not None:
            others[kind] = Tried(None, None, time.perf_counter() - start, lacking)
    return {kind: trials[kind] for kind in MODELS if kind in trials}, others


def _learnable(trials: Mapping[ModelName, Trial], budget: Budget) -> Mapping[ModelName, Trial]:
    """Return the trials of kinds that there is time to learn; of the quickest, if there is none for any."""
    kept = {kind: trial for kind, trial in trials.items() if budget.lacks_time_to_learn([kind]) is None}
    quickest = min(trials, key=lambda kind: budget.costs[kind])
    return kept or {quickest: trials[quickest]}


def _is_better(blend: Trial, best: Trial, later: Sequence[Examples], by: str) -> bool:
    """Tell whether a blend has less loss than the best kind, and no value that is clearly below its own."""
    if by == "value" and best.value(later) - blend.value(later) > AS_GOOD * best.value_spread(blend, later):
        return False
    return blend.loss(later) < (1 - LESS) * best.loss(later)


def _share_that_comes_back(divisions: Sequence[Division]) -> float:
    back = sum(float(late.n[np.isin(late.contexts, early.contexts)].sum()) for early, late in divisions)
    return back / events_of([late for _, late in divisions])


def _best(trials: Mapping[ModelName, Trial], later: Sequence[Examples], by: str) -> ModelName:
    kinds = list(trials)
    if by == "value":
        most = max(kinds, key=lambda kind: trials[kind].value(later))
        highest = trials[most]
        kinds = [
            kind
            for kind in kinds
            if highest.value(later) - trials[kind].value(later) <= AS_GOOD * highest.value_spread(trials[kind], later)
        ]
    return min(kinds, key=lambda kind: trials[kind].loss(later))
