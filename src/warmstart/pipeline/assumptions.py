"""How the assumptions of an evaluation, or of an audit, stand: by what is known already and two small queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import percent, quoted
from warmstart.pipeline.remarks import units_over_epochs
from warmstart.results import Assumption, shown_factor

if TYPE_CHECKING:
    from warmstart.auditing import LateRewards, Repeats
    from warmstart.events import Events
    from warmstart.pipeline.prepare import EvaluationInputs
    from warmstart.pipeline.trained import Training
    from warmstart.pipeline.valuing import Valued
    from warmstart.results import Audit, Check, Finding

EVERYTHING = "Everything: values, gains and bounds."
RUN_AUDIT = "nothing here: audit tests for it"
# A mean weight ratio further from 1 than this is worth a look.
RATIO = 0.05


@dataclass(frozen=True)
class LogChecks:
    """What two queries over the window's events tell: late rewards, a round ratio of outcomes, copies."""

    late: LateRewards | None
    ratio: int | None
    repeats: Repeats | None

    @classmethod
    def of(cls, events: Events) -> LogChecks:
        """Ask for rewards by day and look for copies in a sample."""
        from warmstart.auditing import late_rewards, repeats, reward_days, round_ratio

        days = reward_days(events)
        return cls(late_rewards(days), round_ratio(days), repeats(events))

    @property
    def assumptions(self) -> list[Assumption]:
        """Return the lines about late rewards, sampling by outcome and copies."""
        return [self._late, self._sampled, self._copies]

    @property
    def _late(self) -> Assumption:
        late, seen = self.late, "nothing: it takes times, and more than a week of them"
        result: Finding = "not checked"
        if late is not None:
            seen = f"the last 24 hours earned {percent(late.ratio)} of the mean of the {late.days} days before"
            result = "suspicious" if late.rings else "no sign"
        depends = "Values of what was shown last: too low by the rewards that are still to come."
        return Assumption("WS112", "all rewards had arrived", seen, result, depends)

    @property
    def _sampled(self) -> Assumption:
        name, depends = "no event is missing because of its reward", f"{EVERYTHING} They would be of another traffic."
        if self.ratio is None:
            return Assumption("WS113", name, "nothing: a log does not tell what it lacks", "not testable", depends)
        seen = f"there are exactly {self.ratio} events of one outcome for each of the other, as if drawn so"
        return Assumption("WS113", name, seen, "suspicious", depends)

    @property
    def _copies(self) -> Assumption:
        repeats, seen = self.repeats, "nothing: it takes event ids, or times within the day"
        result: Finding = "not checked"
        if repeats is not None and repeats.coarse:
            seen = "nothing: times are too coarse to tell copies from events that are alike"
        elif repeats is not None:
            by = "repeat an event's id" if repeats.by == "id" else "equal another one in every column"
            chance = f", chance makes {repeats.chance:,.0f}" if repeats.chance >= 0.5 else ""
            seen = f"of {repeats.events:,.0f} events looked at, {repeats.copies:,.0f} {by}{chance}"
            result = "no sign" if not repeats.rings else "violated" if repeats.by == "id" else "suspicious"
        depends = "Bounds and intervals: too narrow. Values too, where some events are copied and others not."
        return Assumption("WS207", "no event is there twice", seen, result, depends)


def evaluation_assumptions(
    checks: LogChecks, inputs: EvaluationInputs, training: Training, answers: Mapping[str, Valued]
) -> tuple[Assumption, ...]:
    """Return what an evaluation rests on.

    Args:
        checks: Of the window's events.
        inputs: What all policies share.
        training: What policies saw of rewards.
        answers: What was found of every policy, by its name.
    """
    inside = "the window" if inputs.source.epoch is None else "an epoch"
    return (
        hidden_segments(_tipping(answers)),
        _drift(inside, RUN_AUDIT, "not checked"),
        _reaction_of(inputs, inside),
        _units_of(inputs, training),
        _weights(inputs, answers),
        _fixed_beforehand(training, list(answers)),
        *checks.assumptions,
    )


def audit_assumptions(checks: LogChecks, audit: Audit) -> tuple[Assumption, ...]:
    """Return what evaluations of a log rest on, as far as no policy is needed to say."""
    tested = {check.name: check for check in audit.checks}
    reacts = audit.epochs is not None and audit.epochs.reacts
    seen, result = _tested(tested.get("reaction"))
    if reacts and result != "suspicious":
        seen, result = "the logging policy reacts inside epochs", "suspicious"
    return (
        hidden_segments(),
        _drift("the window", *_tested(tested.get("drift"))),
        _reaction("WS111", "the window", seen, result),
        _units_in(audit),
        *checks.assumptions,
    )


def _tipping(answers: Mapping[str, Valued]) -> str:
    """Say at which doubt the gains of policies tip, where their sign is known without one."""
    firsts = {name: valued.estimates[0].doubt for name, valued in answers.items()}
    tips = []
    for name, doubt in firsts.items():
        if doubt is not None and doubt.tipping is not None and doubt.guarantee == "finite-sample":
            tips.append(f"{quoted(name)} at {shown_factor(doubt.tipping)}")
        elif doubt is not None and doubt.estimated_tipping is not None:
            tips.append(f"{quoted(name)} at about {shown_factor(doubt.estimated_tipping)} (estimated)")
    return f"{EVERYTHING} The sign of a gain tips at a doubt of: {', '.join(tips)}." if tips else EVERYTHING


def hidden_segments(matters: str = EVERYTHING) -> Assumption:
    """Return the line about what the logging policy knew and the log lacks; ``matters``: what depends on it."""
    name = "the context holds all that the logging policy chose by"
    return Assumption("WS101", name, "nothing: it cannot be tested from the log", "not testable", matters)


def _drift(inside: str, seen: str, result: Finding) -> Assumption:
    depends = "Values and bounds of actions that were shown at some times more than at others."
    return Assumption("WS102", f"mean rewards do not drift inside {inside}", seen, result, depends)


def _reaction(code: str, inside: str, seen: str, result: Finding) -> Assumption:
    depends = "Values and bounds: too low where winners are shown more, too high where they are stopped."
    return Assumption(code, f"nothing inside {inside} reacts to its rewards", seen, result, depends)


def _reaction_of(inputs: EvaluationInputs, inside: str) -> Assumption:
    if inputs.overlapping:
        return _reaction("WS110", inside, "epochs overlap in time", "violated")
    return _reaction("WS111", inside, RUN_AUDIT, "not checked")


def _units(code: str, who: str, seen: str, result: Finding) -> Assumption:
    depends = "Bounds and intervals: too narrow if it fails. Values do not suffer."
    return Assumption(code, f"rewards are independent across {who}", seen, result, depends)


def _units_of(inputs: EvaluationInputs, training: Training) -> Assumption:
    names = " and ".join(map(quoted, inputs.cells.columns.unit))
    if not names:
        return _units("WS107", "events", "nothing: no unit was named; audit looks for columns like one", "not checked")
    if units_over_epochs(inputs, training):
        return _units("WS109", "units", f"{names} comes back in later epochs, so nothing is certified", "violated")
    if training.doubtful or (training.returning and training.unsaid):
        share = f"{percent(training.returning)} of the units of {names} have events outside of the window"
        return _units("WS108", "units", share, "violated" if training.doubtful else "suspicious")
    return _units("WS107", "units", f"{names} is the unit; whether units depend on each other is not", "not testable")


def _units_in(audit: Audit) -> Assumption:
    units, like = audit.units, audit.log.possible_units
    if units is None and like:
        seen = f"no unit was named, and {quoted(like[0].column)} looks like one"
        return _units("WS107", "events", seen, "suspicious")
    if units is None:
        return _units("WS107", "events", "no unit was named, and no column is named like one", "not testable")
    if units.visits.fires:
        return _units("WS107", "units", "rewards go with how often a unit comes", "suspicious")
    return _units("WS107", "units", "rewards do not clearly go with how often a unit comes", "no sign")


def _weights(inputs: EvaluationInputs, answers: Mapping[str, Valued]) -> Assumption:
    source, name = inputs.source, "propensities are right"
    depends = "The clipped value, ips and snips; dr less, which needs weights or reward model to be right."
    if source.certified:
        own = "counts of the evaluated window, which no error of propensities enters"
        return Assumption("WS105", name, own, "holds", "Nothing: weights are exact on this traffic.")
    ringing = {policy: one.alarms for policy, one in answers.items() if one.alarms.rings}
    code = next((alarms.code for alarms in ringing.values()), None) or "WS105"
    said = f"weights of {', '.join(map(quoted, ringing))} do not reproduce the traffic"
    if source.counted:
        estimates = [estimate for one in answers.values() for estimate in one.estimates]
        ratios = [one.weight_ratio.mean for one in estimates if one.weight_ratio is not None]
        worst = max(ratios, key=lambda ratio: abs(ratio - 1), default=1.0)
        seen = f"the mean weight ratio is {worst:.3f}, and should be 1" + (f"; {said}" if ringing else "")
        depends = "The clipped value, ips and snips. All else uses the evaluated window's own counts."
        wrong = bool(ringing) or abs(worst - 1) > RATIO
        return Assumption(code, name, seen, "suspicious" if wrong else "no sign", depends)
    if ringing:
        return Assumption(code, name, said, "suspicious", depends)
    return Assumption("WS105", name, "mean weight and balance of contexts", "no sign", depends)


def _fixed_beforehand(training: Training, policies: Sequence[str]) -> Assumption:
    seen = f"by their rule, their training window or what you said of them ({_listed(policies)})"
    result: Finding = "holds"
    if training.learned:
        seen, result = f"{_listed(training.learned)} learned from events of the window", "violated"
    elif training.unsaid:
        seen, result = f"nobody said until when {_listed(training.unsaid)} was fitted", "not checked"
    depends = "Gains and bounds: a policy that was chosen by these rewards looks better than it is."
    return Assumption("WS103", "policies were fixed before these rewards", seen, result, depends)


def _tested(check: Check | None) -> tuple[str, Finding]:
    """Say what a test on daily cells shows."""
    if check is None or check.p_value is None:
        return "nothing: it takes times, and cells on several days", "not checked"
    chance = "p < 0.0001" if check.p_value < 0.0001 else f"p = {check.p_value:.2g}"
    return f"a test on daily cells ({chance})", "suspicious" if check.fires else "no sign"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(quoted, names[:3])) + more
