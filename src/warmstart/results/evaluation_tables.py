"""An evaluation as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.results.display import TextTable
from warmstart.results.estimate import CertifiedGain

if TYPE_CHECKING:
    from warmstart.results.estimate import EstimatedGain, ValueEstimate
    from warmstart.results.evaluation import Evaluation


def tables(evaluation: Evaluation) -> list[TextTable]:
    """Return what people look at, in order."""
    shown = [
        *(values_table(evaluation), estimates_table(evaluation), traffic_table(evaluation)),
        *(gain_table(evaluation), weight_ratio_table(evaluation)),
    ]
    from warmstart.results.outcome_tables import outcome_tables

    return [*(table for table in shown if table is not None), *outcome_tables(evaluation)]


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
    return TextTable(
        f"Value per {evaluation.per} ({level}; best estimate: approximate, {clipped})", header, rows, left=1
    )


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
    return TextTable("Best estimates of all traffic: point estimates, no bounds", header, rows, left=1)


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
    return TextTable(f"Gain over logging, per {evaluation.per} of all traffic{less}", header, rows, left=1)


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
    header = ("policy", "tau", "weight ratio", "counted too much", "propensity error", "paper's bound")
    rows = [
        (
            *(*names, f"{e.weight_ratio.mean:.3f}", f"{e.weight_ratio.above_one:.1%}"),
            *(evaluation.number(e.propensity_error.tight), evaluation.number(e.propensity_error.paper)),
        )
        for names, e in evaluation.shown()
        if e.weight_ratio is not None and e.propensity_error is not None
    ]
    if not rows:
        return None
    return TextTable(f"What weights {evaluation.propensities.words} do to the estimate", header, rows, left=1)


def _span(evaluation: Evaluation, lower: float | None, upper: float | None) -> str:
    return "-" if lower is None or upper is None else f"[{evaluation.number(lower)}, {evaluation.number(upper)}]"
