"""What is asked of every policy of an evaluation, and the answers: all outcomes at all taus, guards, alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warmstart.core import EPOCH
from warmstart.estimators import check_weights, chosen_taus, estimate_policy, left_out_columns, top_contributions
from warmstart.pipeline.outcomes import OutcomeInputs, guarded_levels, open_outcomes, with_thresholds
from warmstart.pipeline.remarks import unproven_epochs
from warmstart.pipeline.supported import send_supported
from warmstart.policy import build_policy, parse_policies
from warmstart.results import PART_OF_GAIN

if TYPE_CHECKING:
    from warmstart.estimators import Levels, WeightedRows
    from warmstart.pipeline.prepare import EvaluationInputs, Learning
    from warmstart.pipeline.segments import Segment
    from warmstart.pipeline.supported import OnSupport
    from warmstart.pipeline.trained import Training
    from warmstart.policy import PolicyTable
    from warmstart.results import Alarms, Contribution, Guard, IntervalName, Tau, ValueEstimate

    Ends = tuple[float, float]


@dataclass(frozen=True)
class Asked:
    """The questions: taus, the confidence interval, point estimators, guards, how many contributions to name.

    ``on_support``: is given the contexts and actions in which a policy is supported. ``name_texts``: contributions name
    contexts that are free text, too.
    """

    taus: Sequence[Tau]
    method: IntervalName
    estimators: Sequence[str]
    guards: Sequence[Guard] = ()
    contributions: int = 0
    on_support: OnSupport | None = None
    name_texts: bool = False


@dataclass(frozen=True)
class Valued:
    """The answers for one policy: the first outcome's estimates by tau, those of others and of segments, and alarms.

    ``unknown``: the share of its traffic on actions that the log never shows; ``unseen``: the share on which a learned
    policy chooses nothing; ``deferred``: the share that it leaves to logging.
    """

    estimates: list[ValueEstimate]
    others: list[ValueEstimate]
    segments: list[ValueEstimate]
    contributions: list[Contribution]
    alarms: Alarms
    unknown: float = 0.0
    unseen: float = 0.0
    deferred: float = 0.0


@dataclass(frozen=True, eq=False)
class Valuing:
    """What all policies are valued with: the inputs and levels of the first outcome, and those of the others.

    ``logging_ends``: the ends of logging's mean of the outcomes on which guards are relative to it.
    """

    asked: Asked
    inputs: EvaluationInputs
    levels: Levels
    training: Training
    outcomes: list[OutcomeInputs]
    segments: list[Segment]
    logging_ends: Mapping[str, Ends] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        asked: Asked,
        inputs: EvaluationInputs,
        levels: Levels,
        training: Training,
        resources: ExitStack,
        *,
        learn: Learning | None,
        segments: list[Segment],
    ) -> Valuing:
        """Prepare all outcomes.

        Args:
            asked: The questions.
            inputs: What policies are valued with, for the first outcome.
            levels: The confidence levels.
            training: What policies saw of rewards.
            resources: What is held in the engine is released with it.
            learn: How to learn reward models; None for none.
            segments: The segments to value for themselves.
        """
        first = inputs.cells.evaluated.log.outcomes
        # What is told of all traffic shares delta with what is told of segments.
        levels = replace(levels, outcomes=len(first), looks=levels.looks * (2 if segments else 1))
        others = open_outcomes(
            inputs, levels, resources, guards=asked.guards, learn=learn, returning=training.returning
        )
        levels = guarded_levels(levels, first[0], inputs, asked.guards)
        valuing = cls(asked, inputs, levels, training, others, segments)
        return valuing._with_thresholds(valuing._ends_of_logging()) if asked.guards else valuing

    def _with_thresholds(self, logging_ends: Mapping[str, Ends]) -> Valuing:
        """Return the same with levels that ask at which doubts guards tip."""

        def levels(outcome: OutcomeInputs) -> Levels:
            return with_thresholds(outcome, self.asked.guards, logging_ends.get(outcome.outcome.name))

        others = [replace(one, levels=levels(one)) for one in self.outcomes]
        return replace(self, levels=levels(self._first), outcomes=others, logging_ends=logging_ends)

    @property
    def _first(self) -> OutcomeInputs:
        outcome = self.inputs.cells.evaluated.log.outcomes[0]
        return OutcomeInputs(0, outcome, 1.0, self.levels, {"known": self.inputs})

    def value(self, policy: PolicyTable) -> Valued:
        """Value a policy."""
        asked, inputs = self.asked, self.inputs
        parts: list[Contribution] = []
        with ExitStack() as resources:
            base = inputs.open_base(policy, resources)
            with inputs.weigh(policy, base) as weighted:
                taus = chosen_taus(weighted, asked.taus, self.levels.rate)
                if asked.on_support is not None and not policy.is_logging:
                    send_supported(weighted, [tau for tau, _ in taus], asked.on_support)
                valued = estimate_policy(
                    weighted, taus=taus, levels=self.levels, method=asked.method, estimators=asked.estimators
                )
                alarms = check_weights(weighted)
                segments = [
                    replace(one, segment=segment.name, share=segment.events / inputs.cells.evaluated.total, by_epoch=())
                    for segment in self.segments
                    for one in estimate_policy(
                        weighted.only(segment.of, segment.events),
                        taus=taus,
                        levels=self.levels.of_segments(len(self.segments)),
                        method=asked.method,
                        estimators=asked.estimators,
                    )
                ]
                valued = self._with_left_out(valued, weighted, policy)
                if asked.contributions and not policy.is_logging and inputs.source.certified:
                    most, name_texts = asked.contributions, asked.name_texts
                    parts = top_contributions(weighted, valued[0], most=most, name_texts=name_texts)
            others = [
                outcome.value(policy, base, taus, method=asked.method, estimators=asked.estimators)
                for outcome in self.outcomes
            ]
        unproven = policy.name in self.training.unproven or unproven_epochs(inputs, self.training)
        *of_outcomes, segments = [
            [self._judged(one, alarms, unproven=unproven) for one in estimates]
            for estimates in (valued, *others, segments)
        ]
        valued = [self._guarded(one, [some[i] for some in of_outcomes]) for i, one in enumerate(of_outcomes[0])]
        return Valued(valued, [one for estimates in of_outcomes[1:] for one in estimates], segments, parts, alarms)

    def _with_left_out(
        self, valued: list[ValueEstimate], weighted: WeightedRows, policy: PolicyTable
    ) -> list[ValueEstimate]:
        """Return estimates with the doubts that context columns would have made, where a doubt was asked for."""
        cells, strata = self.inputs.cells, self.inputs.by_epoch
        if self.levels.doubt == 1 or weighted.is_logging or not self.inputs.source.counted:
            return valued
        rows = weighted.table
        if strata is not None:
            choices = policy.choices(cells)
            by = strata.groups if EPOCH in choices.columns else cells.columns.context_keys
            rows = choices.join(strata.traffic.select(*strata.groups, "context_n"), list(by))
        columns = left_out_columns(rows, cells, strata)
        return [replace(one, doubt=one.doubt and replace(one.doubt, columns=columns)) for one in valued]

    def _judged(self, estimate: ValueEstimate, alarms: Alarms, *, unproven: bool) -> ValueEstimate:
        estimate = estimate if self.inputs.source.certified else estimate.judged(alarms)
        return estimate.uncertified() if unproven else estimate

    def _guarded(self, estimate: ValueEstimate, outcomes: Sequence[ValueEstimate]) -> ValueEstimate:
        """Return an estimate with what is known of the guards, from all outcomes of the policy at the same tau."""
        if not self.asked.guards or estimate.is_logging:
            return estimate
        by_name = {one.outcome: one for one in outcomes}
        levels = {one.outcome.name: one.levels for one in (self._first, *self.outcomes)}
        limits = {name: list(one.doubt.limits if one.doubt is not None else ()) for name, one in by_name.items()}
        results = []
        for guard in self.asked.guards:
            gain = by_name[guard.outcome].gain.certified
            if gain is None or gain.joint_lower is None or gain.joint_upper is None:
                results.append(guard.judge(None, None))
                continue
            ends = gain.joint_lower, gain.joint_upper
            # Where one test tells of change and mean, the mean has no part of delta.
            mean = self.logging_ends.get(guard.outcome) if levels[guard.outcome].part < 1 else None
            judged = guard.judge(ends, mean, gain.relative)
            own, limits[guard.outcome] = limits[guard.outcome][:2], limits[guard.outcome][2:]
            results.append(judged.with_doubt(own, doubted=self.levels.doubt > 1))
        return replace(estimate, guards=tuple(results))

    def _ends_of_logging(self) -> dict[str, Ends]:
        """Return the ends of logging's mean where guards are relative to it, at the level that gains leave to it."""
        cells, relative = self.inputs.cells, {guard.outcome for guard in self.asked.guards if guard.relative}
        needed = [one for one in (self._first, *self.outcomes) if one.outcome.name in relative]
        if not needed or not self.inputs.source.counted:
            return {}
        [logging] = parse_policies("logging")
        built = build_policy(logging, cells, feasible_from="evaluated", live=False, strata=self.inputs.by_epoch)
        delta = (1 - PART_OF_GAIN) * self.levels.delta / self.levels.looks
        results: dict[str, Ends] = {}
        with ExitStack() as resources:
            base = self.inputs.open_base(built, resources)
            for outcome in needed:
                levels = replace(outcome.levels, delta=delta, looks=1, outcomes=1)
                [one] = replace(outcome, levels=levels).value(
                    built, base, [(1.0, None)], method=self.asked.method, estimators=()
                )
                if one.certified_lower is not None and one.certified_upper is not None:
                    results[outcome.outcome.name] = (one.certified_lower, one.certified_upper)
        return results
