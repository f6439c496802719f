"""Value every outcome of a policy: one tau and one join with the log for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warmstart.core import EmptyWindowError, quoted
from warmstart.estimators import LoggingTotals, Threshold, estimate_policy
from warmstart.events import outcome_view
from warmstart.pipeline.known_before import known_levels
from warmstart.pipeline.prepare import EvaluationInputs, Learning
from warmstart.results import PART_OF_GAIN

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.core import Outcome
    from warmstart.estimators import ChosenTau, Levels
    from warmstart.events import Fill
    from warmstart.policy import PolicyTable
    from warmstart.results import Guard, IntervalName, ValueEstimate

    Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class OutcomeInputs:
    """An outcome, its confidence levels, and what policies are valued with, for every way in which nulls are filled."""

    k: int
    outcome: Outcome
    known: float
    levels: Levels
    views: dict[Fill, EvaluationInputs]

    def value(
        self,
        policy: PolicyTable,
        base: ir.Table | None,
        taus: Sequence[ChosenTau],
        *,
        method: IntervalName,
        estimators: Sequence[str],
    ) -> list[ValueEstimate]:
        """Estimate the outcome under a policy, at every tau.

        Args:
            policy: The policy.
            base: Its choices with the columns of their cells, all outcomes in them, if rows are cells.
            taus: The taus that the reward's values have.
            method: The confidence interval.
            estimators: Point estimates of all traffic.
        """
        results = {}
        for fill, inputs in self.views.items():
            rows = None if base is None else outcome_view(base, self.k, fill)
            with inputs.weigh(policy, rows) as weighted:
                names = estimators if fill == "known" else ()
                results[fill] = estimate_policy(
                    weighted, taus=taus, levels=self.levels, method=method, estimators=names
                )
        if len(results) == 1:
            return [replace(one, known=self.known) for one in results["known"]]
        bounded = [one.between(low, high, self.known) for one, low, high in zip(*results.values(), strict=True)]
        inputs = self.views["known"]
        # What units and epochs gain is not told apart by sign, so that nobody knows which end would be the worst.
        # Nor is it known under doubt, which changes signs.
        apart = inputs.strata is None and inputs.visits is None and self.levels.doubt == 1
        return bounded if apart else [replace(one, gain=replace(one.gain, certified=None)) for one in bounded]


def open_outcomes(
    inputs: EvaluationInputs,
    levels: Levels,
    resources: ExitStack,
    *,
    guards: Sequence[Guard],
    learn: Learning | None,
    returning: float,
) -> list[OutcomeInputs]:
    """Prepare what is needed to value all outcomes but the first.

    Args:
        inputs: What policies are valued with, for the first outcome.
        levels: Its confidence levels.
        resources: What is held in the engine is released with it.
        guards: The guards on outcomes.
        learn: How to learn reward models; None for none.
        returning: The share of the evaluated units that training knows.
    """
    cells = inputs.cells
    results = []
    for k, outcome in list(enumerate(cells.evaluated.log.outcomes))[1:]:
        total = known = cells.evaluated.total
        fills: tuple[Fill, ...] = ("known",)
        if outcome.known < 1:
            fills = ("known", "low", "high") if inputs.source.certified else fills
            count = cells.table[f"n_of_{k}"]
            known = float(cells.engine.fetch(cells.table.agg(known=count.sum()))[0]["known"])
        if not known:
            raise EmptyWindowError(
                f"The outcome {quoted(outcome.name)} is never known in the evaluated window.", "Leave it out."
            )
        view = cells.of_outcome(k, "known", known)
        own = known_levels(levels.delta, levels.looks, view.evaluated, view.train, returning=returning)
        own = replace(own, outcomes=levels.outcomes, doubt=levels.doubt)
        views = {
            fill: inputs.of_outcome(
                k,
                fill,
                resources,
                total=known if fill == "known" else total,
                rate=own.rate,
                learn=learn if fill == "known" else None,
            )
            for fill in fills
        }
        own = guarded_levels(own, outcome, views["known"], guards)
        results.append(OutcomeInputs(k, outcome, known / total, own, views))
    return results


def with_thresholds(inputs: OutcomeInputs, guards: Sequence[Guard], logging: Ends | None) -> Levels:
    """Return an outcome's levels with what guards ask of its gain: to keep each, then to break it.

    Args:
        inputs: The outcome.
        guards: The guards on all outcomes.
        logging: The ends of logging's mean, if there are any.
    """
    result, levels, outcome = [], inputs.levels, inputs.outcome
    for guard in (one for one in guards if one.outcome == outcome.name):
        limits = guard.limits(logging)
        # The mean has the rest of delta.
        part = PART_OF_GAIN if guard.relative and levels.part == 1 else 1.0
        if limits is not None:
            low, high = (end / outcome.width for end in limits)
            keep = Threshold(low, False, part) if guard.sense == "<=" else Threshold(high, True, part)
            breach = Threshold(high, True, part) if guard.sense == "<=" else Threshold(low, False, part)
            result += [keep, breach]
    return replace(levels, thresholds=tuple(result))


def guarded_levels(levels: Levels, outcome: Outcome, inputs: EvaluationInputs, guards: Sequence[Guard]) -> Levels:
    """Return levels with what is known of logging's mean, where a guard on the outcome is relative to it.

    Units, epochs, nulls and doubt have no test of change and mean together, nor have means that could be negative:
    there the mean has a part of delta.

    Args:
        levels: The levels without guards.
        outcome: The outcome.
        inputs: What policies are valued with, for this outcome.
        guards: The guards on all outcomes.
    """
    limits = tuple(guard.limit for guard in guards if guard.relative and guard.outcome == outcome.name)
    if not limits or not inputs.source.counted:
        return levels
    divided = inputs.strata is not None or inputs.visits is not None
    if divided or outcome.known < 1 or outcome.low < 0 or levels.doubt > 1:
        return replace(levels, part=PART_OF_GAIN)
    cells = inputs.cells
    rewards = float(cells.engine.fetch(cells.table.agg(rewards=cells.table.reward_sum.sum()))[0]["rewards"] or 0.0)
    usable = levels.rate if levels.rate is not None and 0 < levels.rate < 1 else None
    logging = LoggingTotals(cells.evaluated.total, rewards, outcome.low / outcome.width, usable)
    return replace(levels, against=logging, limits=limits)
