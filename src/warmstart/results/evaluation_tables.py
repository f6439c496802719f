"""An evaluation as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import percent, shortened
from warmstart.results.amounts import Amounts
from warmstart.results.assumptions import assumptions_table
from warmstart.results.display import TextTable
from warmstart.results.doubt import doubt_table, left_out_table
from warmstart.results.estimate import CertifiedGain, PointEstimate

if TYPE_CHECKING:
    from warmstart.results.estimate import EstimatedGain, ValueEstimate
    from warmstart.results.evaluation import Evaluation


def tables(evaluation: Evaluation) -> list[TextTable]:
    """Return what people look at, in order."""
    shown = [
        *(decision_table(evaluation), values_table(evaluation), estimates_table(evaluation), traffic_table(evaluation)),
        *(gain_table(evaluation), weight_ratio_table(evaluation)),
    ]
    # Where conclusions tip without a doubt, the verdict says.
    shown += [doubt_table(evaluation), left_out_table(evaluation)] if evaluation.doubt else []
    from warmstart.results.outcome_tables import outcome_tables

    rests = [assumptions_table(evaluation.assumptions)] if evaluation.assumptions else []
    return [*(table for table in shown if table is not None), *outcome_tables(evaluation), *rests]


def decision_table(evaluation: Evaluation) -> TextTable | None:
    """Show what to decide by, a row a policy and tau: estimates, bounds, support, guards, and the verdict."""
    if all(e.is_logging for e in evaluation):
        return None
    amounts, sign = Amounts.of(evaluation), evaluation.reward.sign
    guarded = any(e.guards for e in evaluation)
    one_tau = len({e.policy for e in evaluation}) == sum(1 for _ in evaluation.shown())
    rows = []
    for names, e in evaluation.shown():
        best, change, certified = e.best, e.gain.estimated, e.gain.certified
        verdict = "what was shown" if e.is_logging else evaluation.verdict_on(e).words + _guarded(e)
        cells = [*(names[:1] if one_tau else names), verdict]
        if e.is_logging:
            own = "-" if best is None else amounts.number(best.value) + _ends(amounts, best)
            rows.append((*cells, "-", "-", "-", *(["-"] if guarded else []), "-", own))
            continue
        proven = None if certified is None else certified.joint_lower if sign > 0 else certified.joint_upper
        cells += [
            "-" if certified is None or certified.difference is None else amounts.signed_number(certified.difference),
            "-" if proven is None else amounts.bound(proven, sign),
            percent(e.support.supported),
        ]
        cells += [f"{sum(one.status == 'holds' for one in e.guards)} of {len(e.guards)}"] if guarded else []
        everywhere = "-" if change is None else amounts.signed_number(change.difference) + _ends(amounts, change)
        rows.append((*cells, everywhere, _level(evaluation, e)))
    end = "at most" if evaluation.reward.minimize else "at least"
    header = ("policy", *([] if one_tau else ["tau"]), "verdict", "where supported", end, "supported")
    header = (*header, *(["guards kept"] if guarded else []), "everywhere", "level everywhere")
    name = shortened(evaluation.reward.name, 30)
    title = f"Decision table: change of {name} {amounts.unit} of all traffic, against what was shown"
    return TextTable(title, header, rows, left=1)


def _guarded(estimate: ValueEstimate) -> str:
    """Say in a table what guards make of a verdict."""
    statuses = {guard.status for guard in estimate.guards}
    return ", breaks a guard" if "fails" in statuses else ", a guard is open" if "cannot-tell" in statuses else ""


def _level(evaluation: Evaluation, estimate: ValueEstimate) -> str:
    """Show what all traffic would have by the best estimate: what was shown, and the change everywhere."""
    amounts, change, best = Amounts.of(evaluation), estimate.gain.estimated, estimate.best
    if change is None:
        return "-" if best is None else amounts.number(best.value) + _ends(amounts, best)
    mean = evaluation.log.mean_reward
    level = amounts.number(mean + change.difference)
    if change.lower is None or change.upper is None:
        return level
    return f"{level} [{amounts.number(mean + change.lower)}, {amounts.number(mean + change.upper)}]"


def _ends(amounts: Amounts, of: PointEstimate | EstimatedGain) -> str:
    """Show an interval behind its number, if there is one."""
    show = amounts.number if isinstance(of, PointEstimate) else amounts.signed_number
    return "" if of.lower is None or of.upper is None else f" [{show(of.lower)}, {show(of.upper)}]"


def values_table(evaluation: Evaluation) -> TextTable:
    """Show best estimates, certified ends, and clipped values, with their confidence intervals."""
    first, number = evaluation.first, evaluation.number
    rows = [
        (
            *names,
            *best_cells(evaluation, e),
            *(number(e.certified_lower), number(e.certified_upper)),
            *(e.withheld or number(e.value), _span(evaluation, e.lower, e.upper)),
        )
        for names, e in evaluation.shown()
    ]
    units = f" by unit ({', '.join(evaluation.log.unit)})" if evaluation.log.unit else ""
    level = f"{100 * (1 - first.delta):.6g} % confidence intervals{units}"
    clipped = f"clipped value: {first.interval}, {first.guarantee}"
    header = ("policy", "tau", "best estimate", "interval", "at least", "at most", "clipped value", "interval")
    title = f"Value: {_of(evaluation)} ({level}; best estimate: approximate, {clipped})"
    return TextTable(title, header, rows, left=1)


def _of(evaluation: Evaluation) -> str:
    """Name the reward and the unit of the numbers in a table."""
    return f"{shortened(evaluation.reward.name, 30)} {Amounts.of(evaluation).unit}"


def best_cells(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[str, str]:
    """Show the best estimate and its interval; a star where that is conditional on the model."""
    best = estimate.best
    if best is None:
        return "-", "-"
    if best.lower is None:
        return evaluation.number(best.value), "no overlap" if estimate.without_overlap else "-"
    return evaluation.number(best.value), _span(evaluation, best.lower, best.upper) + ("*" if best.on_model > 0 else "")


def estimates_table(evaluation: Evaluation) -> TextTable | None:
    """Show all point estimates, unless the table of values has them already."""
    if all(len(e.estimates) < 2 for e in evaluation):
        return None
    rows = [
        (
            *(*names, point.estimator, evaluation.number(point.value)),
            *(_span(evaluation, point.lower, point.upper), f"{point.on_model:.1%}"),
        )
        for names, e in evaluation.shown()
        for point in e.estimates
    ]
    header = ("policy", "tau", "estimator", "value", "interval, approx.", "on the model alone")
    title = f"Best estimates of all traffic: {_of(evaluation)}; point estimates, no bounds"
    return TextTable(title, header, rows, left=1)


def traffic_table(evaluation: Evaluation) -> TextTable:
    """Show support (overlap): the shares of traffic that the log knows something of."""
    header = ("policy", "tau", "supported", "clipped", "unsupported", "undecided", "matched", "effective")
    rows = [
        (
            *names,
            *(f"{share:.1%}" for share in vars(e.support).values()),
            *(f"{e.matched:,}", f"{e.effective_sample_size:,.0f}"),
        )
        for names, e in evaluation.shown()
    ]
    return TextTable("Support (shares of traffic; events that match, effective sample size)", header, rows, left=1)


def gain_table(evaluation: Evaluation) -> TextTable | None:
    """Show policies against logging: the best estimate, and what is certain where the policy is supported."""
    header = ("policy", "tau", "estimated", "interval", "certified", "interval", "supported", "contested")
    rows = []
    for names, e in evaluation.shown():
        if not e.is_logging:
            both = gain_cells(evaluation, e)
            certified = e.gain.certified
            contested = "-" if certified is None else f"{certified.contested:.1%}"
            rows.append((*names, *both, f"{e.support.supported:.1%}", contested))
    if not rows:
        return None
    less = " (less is better)" if evaluation.reward.minimize else ""
    return TextTable(f"Gain over logging: {_of(evaluation)} of all traffic{less}", header, rows, left=1)


def gain_cells(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[str, str, str, str]:
    """Show the estimated gain and the certified one, each with its interval."""
    gain = estimate.gain
    return (*_gain(evaluation, gain.estimated), *_gain(evaluation, gain.certified))


def _gain(evaluation: Evaluation, gain: CertifiedGain | EstimatedGain | None) -> tuple[str, str]:
    unproven = isinstance(gain, CertifiedGain) and gain.lower is None
    if gain is None or gain.difference is None or unproven:
        return "-", "-"
    return evaluation.number(gain.difference, signed=True), _span(evaluation, gain.lower, gain.upper)


def weight_ratio_table(evaluation: Evaluation) -> TextTable | None:
    """Show what importance weights counted in another window do to the estimates."""
    header = ("policy", "tau", "clipped value", "by own counts", "weight ratio", "counted too much")
    rows = [
        (
            *(*names, evaluation.number(e.weight_ratio.value), evaluation.number(e.weight_ratio.own_value)),
            *(f"{e.weight_ratio.mean:.3f}", f"{e.weight_ratio.above_one:.1%}"),
            *(evaluation.number(e.propensity_error.tight), evaluation.number(e.propensity_error.paper)),
        )
        for names, e in evaluation.shown()
        if e.weight_ratio is not None and e.propensity_error is not None
    ]
    if not rows:
        return None
    title = f"What weights {evaluation.propensities.words} make of the clipped value: {_of(evaluation)}"
    return TextTable(title, (*header, "propensity error", "paper's bound"), rows, left=1)


def _span(evaluation: Evaluation, lower: float | None, upper: float | None) -> str:
    return "-" if lower is None or upper is None else f"[{evaluation.number(lower)}, {evaluation.number(upper)}]"
