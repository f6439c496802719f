"""Choose the kind of reward model by what the policies earn, and how well rewards are predicted, on later events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warmstart.core import Progress, UsageError
from warmstart.reward.blend import Shares, blended
from warmstart.reward.examples import Examples
from warmstart.reward.learner import Learner
from warmstart.reward.models import BLEND, MODELS, ModelName
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
    time_budget: float | None,
    on_progress: Progress,
) -> ModelChoice:
    """Return the best kind of model, or the best blend of several.

    The best has the least log-loss on later events. Where contexts come back, it is one of those whose clipped value
    there is not clearly below the highest. A blend, the mean of their predictions by shares, is one of them.

    Args:
        learner_of: makes the learner of a kind.
        divisions: pairs of cells to learn from and cells to judge by.
        tau: the fit's tau, for all.
        time_budget: no further kind is begun after so many seconds; None: all are tried.
        on_progress: called with the step and the share that is done.
    """
    begun, tried, trials = time.perf_counter(), dict[str, Tried](), dict[ModelName, Trial]()
    later = [late for _, late in divisions]
    for number, kind in enumerate(MODELS):
        if trials and time_budget is not None and time.perf_counter() - begun > time_budget:
            break
        on_progress("comparing models", number / len(MODELS), kind)
        start = time.perf_counter()
        try:
            trial = trials[kind] = try_out(learner_of(kind), divisions, tau)
        except UsageError as error:
            tried[kind] = Tried(None, None, time.perf_counter() - start, str(error))
        else:
            tried[kind] = Tried(trial.value(later), trial.loss(later), time.perf_counter() - start)
    by = "value" if _share_that_comes_back(divisions) >= SHARE_TO_COMPARE_VALUES else "loss"
    best = _best(trials, later, by)
    start = time.perf_counter()
    if (blend := blended(trials)) is None:
        return ModelChoice(best, trials[best], {}, by, tried)
    shares, trial = blend
    tried[BLEND] = Tried(trial.value(later), trial.loss(later), time.perf_counter() - start)
    if not _is_better(trial, trials[best], later, by):
        return ModelChoice(best, trials[best], {}, by, tried)
    return ModelChoice(max(shares, key=lambda kind: shares[kind]), trial, shares, by, tried)


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
