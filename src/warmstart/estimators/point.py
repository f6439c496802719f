"""The registry of point estimators. Each declares its sums over the weighted table, and finishes with arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import ibis

from warmstart.estimators import dm, dr, ips, snips
from warmstart.estimators.intervals import score_ends
from warmstart.estimators.moments import Moments, Terms
from warmstart.estimators.weights import Clip, is_supported, own_clipped, shrunk, switched
from warmstart.results import BEST_FIRST, PLAIN, EstimatedGain, PointEstimate

if TYPE_CHECKING:
    import ibis.expr.types as ir

    Declared = Callable[[ir.Table, Clip], dict[str, ir.Value]]


Kind = Literal["sums", "model_terms", "judging_terms"]


def _no_terms(_rows: ir.Table, _tau: Clip, _moments: Moments) -> Terms:
    return {}


@dataclass(frozen=True)
class Estimator:
    """An estimator of the value of all traffic.

    ``sums(rows, tau)``: expressions over the weighted table by name (equal names are equal sums, computed once).
    ``finish(totals, events[, by_unit])``: the value and its variance. ``influence(rows, tau, moments)``: what an
    event adds to its error, constant + slope * reward; finish takes the squares of its sums by unit. What reads the
    reward model has terms of further sums: ``model_terms``, over rows with its expectations, of which it needs those
    that are ``left`` to the model where propensities are counts (all without it); and there ``judging_terms``, over
    shown cells, for how wrong it may be.
    """

    finish: Callable[..., Moments]
    influence: Callable[[ir.Table, Clip, Moments], Terms] = _no_terms
    sums: Declared | None = None
    model_terms: Declared | None = None
    judging_terms: Declared | None = None
    left: Callable[[ir.Table, Clip], ir.BooleanValue] | None = None

    @property
    def modelled(self) -> bool:
        """Tell whether it reads the reward model."""
        return self.model_terms is not None


def _unsupported(rows: ir.Table, tau: Clip) -> ir.BooleanValue:
    return ~is_supported(rows, tau)


def _doubly_robust(weight: Any, left: Any = None) -> Estimator:
    return Estimator(
        finish=partial(dr.finish, weight=weight),
        influence=partial(dr.influence, weight=weight),
        sums=partial(dr.sums, weight=weight),
        model_terms=partial(dr.model_terms, weight=weight),
        judging_terms=partial(dr.judging_terms, weight=weight),
        left=left,
    )


ESTIMATORS: Mapping[str, Estimator] = {
    "ips": Estimator(ips.finish, ips.influence, ips.sums),
    "snips": Estimator(snips.finish, snips.influence, snips.sums),
    "dm": Estimator(dm.finish, model_terms=dm.model_terms),
    "dr": _doubly_robust(own_clipped, _unsupported),
    "switch-dr": _doubly_robust(switched, _unsupported),
    "shrunk-dr": _doubly_robust(shrunk),
}


def declared(names: Sequence[str], kind: Kind, rows: ir.Table, tau: Clip) -> dict[str, ir.Value]:
    """Return the sums, or the terms of sums, that some estimators need, each once.

    Args:
        names: The estimators.
        kind: Which of their sums.
        rows: The weighted table, rows with the model's expectations, or shown ones.
        tau: The clipping constant.
    """
    asked = [getattr(ESTIMATORS[name], kind) for name in names]
    return {name: value for some in asked if some is not None for name, value in some(rows, tau).items()}


def left_to_model(names: Sequence[str], rows: ir.Table, taus: Sequence[Clip]) -> ir.Table:
    """Return the rows of counted propensities that some estimators need the model's expectations of."""
    asked = [ESTIMATORS[name] for name in names if ESTIMATORS[name].modelled]
    if any(estimator.left is None for estimator in asked):
        return rows
    conditions = [estimator.left(rows, tau) for estimator in asked if estimator.left for tau in taus]
    return rows.filter(ibis.or_(*conditions))


ByUnit = Callable[[str], Mapping[str, float] | None]


def by_event(_: str) -> None:
    """Return nothing by unit, for any estimator: every event is a unit of its own."""


def point_estimates(
    names: Sequence[str], totals: Mapping[str, float], events: float, delta: float, by_unit: ByUnit = by_event
) -> tuple[PointEstimate, ...]:
    """Return the estimates whose values are finite, with confidence intervals; skip the others.

    Args:
        names: The estimators.
        totals: What the sums of ``declared`` came to.
        events: T, all events of the window.
        delta: The share of intervals that may miss.
        by_unit: The sums over units of an estimator's squared influence terms, if there are units.
    """
    finished = {name: _finished(name, totals, events, by_unit(name)) for name in names}
    return tuple(
        PointEstimate(name, min(max(moments.value, 0.0), 1.0), *_ends(moments, delta), moments.on_model)
        for name, moments in finished.items()
        if isfinite(moments.value)
    )


def without_plain_intervals(points: Sequence[PointEstimate]) -> tuple[PointEstimate, ...]:
    """Return point estimates of which those that rest on weights alone have no ends."""
    return tuple(replace(one, lower=None, upper=None) if one.estimator in PLAIN else one for one in points)


def estimated_gain(
    names: Sequence[str], totals: Mapping[str, float], events: float, delta: float, by_unit: ByUnit = by_event
) -> EstimatedGain | None:
    """Return the gain over logging of the best doubly robust estimator among some; None if there is none.

    Args:
        names: The estimators.
        totals: What the sums of ``declared`` came to.
        events: T, all events of the window.
        delta: The share of intervals that may miss.
        by_unit: The sums over units of an estimator's squared influence terms, if there are units.
    """
    for name in sorted(names, key=BEST_FIRST.index):
        moments = _finished(name, totals, events, by_unit(name))
        if moments.gain is None:
            continue
        if moments.gain_variance is None or _ends(moments, delta)[0] is None:
            return EstimatedGain(name, moments.gain, None, None, moments.on_model)
        # Of the difference to a mean of logging that is taken as it is, so that only the policy's value moves.
        logging = moments.value - moments.gain
        lower, upper = (end - logging for end in score_ends(moments.value, moments.gain_variance, delta))
        return EstimatedGain(name, moments.gain, max(lower, -1.0), min(upper, 1.0), moments.on_model)
    return None


def _finished(name: str, totals: Mapping[str, float], events: float, by_unit: Mapping[str, float] | None) -> Moments:
    """Return the value and its variance; none where there are units, but too few."""
    moments = ESTIMATORS[name].finish(totals, events, by_unit)
    return moments if by_unit is None or by_unit else replace(moments, variance=None, gain_variance=None)


def _ends(moments: Moments, delta: float) -> tuple[float | None, float | None]:
    """Return the ends of a confidence interval, inside the range of rewards; none where rewards never differed."""
    if not moments.variance or moments.variance < 0:
        return None, None
    return inside(score_ends(moments.value, moments.variance, delta))


def inside(ends: tuple[float, float]) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of an interval, inside the range of rewards; none of one that lies outside of it.

    Then the weights are wrong. Ends at 1 and 1 would say that nothing could be more certain.
    """
    lower, upper = ends
    return (None, None) if lower >= 1 or upper <= 0 else (max(lower, 0.0), min(upper, 1.0))
