"""An evaluation as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.results.display import TextTable

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation


def tables(evaluation: Evaluation) -> list[TextTable]:
    """Return what people look at, in order."""
    shown = [
        *(values_table(evaluation), estimates_table(evaluation), traffic_table(evaluation)),
        *(gain_table(evaluation), weight_ratio_table(evaluation)),
    ]
    return [table for table in shown if table is not None]


def values_table(evaluation: Evaluation) -> TextTable:
    """Show values with their confidence intervals, certified ends and best estimates."""
    first, number = evaluation.first, evaluation.number
    rows = [
        (
            *names,
            *(number(e.value), _span(evaluation, e.lower, e.upper)),
            *(number(e.certified_lower), number(e.certified_upper)),
            number(None if e.best is None else e.best.value),
        )
        for names, e in evaluation.shown()
    ]
    level = f"{100 * (1 - first.delta):.6g} % confidence interval"
    header = ("policy", "tau", "value", "interval", "at least", "at most", "best estimate")
    return TextTable(f"Value per event ({level}: {first.interval}, {first.guarantee})", header, rows, left=1)


def estimates_table(evaluation: Evaluation) -> TextTable | None:
    """Show all point estimates, unless the table of values has them already."""
    if all(len(e.estimates) < 2 and all(p.estimator == "snips" for p in e.estimates) for e in evaluation):
        return None
    rows = [
        (*names, point.estimator, evaluation.number(point.value), _span(evaluation, point.lower, point.upper))
        for names, e in evaluation.shown()
        for point in e.estimates
    ]
    header = ("policy", "tau", "estimator", "value", "interval, approx.")
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


def gain_table(evaluation: Evaluation) -> TextTable:
    """Show policies against logging on the same traffic."""
    header = ("policy", "tau", "traffic", "contested", "value", "logging", "gain", "interval")
    number = evaluation.number
    rows = [
        (
            *(*names, f"{e.gain.share:.1%}", f"{e.gain.contested:.1%}"),
            *(number(e.gain.value), number(e.gain.logging), number(e.gain.difference, signed=True)),
            _span(evaluation, e.gain.lower, e.gain.upper),
        )
        for names, e in evaluation.shown()
    ]
    where = "where the policy is supported" if evaluation.propensities.counted else "that the policy decides"
    return TextTable(f"Gain over logging, per event of the traffic {where}", header, rows, left=1)


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
