"""The registry of point estimators. Each declares its sums over the weighted table, and finishes with arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from warmstart.estimators import dm, dr, ips, snips
from warmstart.estimators.intervals import normal_ends
from warmstart.estimators.moments import Moments
from warmstart.estimators.weights import clipped, shrunk, switched
from warmstart.results import EstimatedGain, PointEstimate

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Estimator:
    """An estimator of the value of all traffic.

    ``sums(rows, tau)``: expressions over the weighted table by name (equal names are equal sums, computed once);
    ``finish(totals, events)``: the value and its variance. ``modelled``: whether it reads the reward model.
    """

    sums: Callable[[ir.Table, float], dict[str, ir.Value]]
    finish: Callable[[Mapping[str, float], float], Moments]
    modelled: bool = True


def _doubly_robust(weight: Any) -> Estimator:
    return Estimator(partial(dr.sums, weight=weight), partial(dr.finish, weight=weight))


ESTIMATORS: Mapping[str, Estimator] = {
    "ips": Estimator(ips.sums, ips.finish, modelled=False),
    "snips": Estimator(snips.sums, snips.finish, modelled=False),
    "dm": Estimator(dm.sums, dm.finish),
    "dr": _doubly_robust(clipped),
    "switch-dr": _doubly_robust(switched),
    "shrunk-dr": _doubly_robust(shrunk),
}


def point_sums(names: Sequence[str], rows: ir.Table, tau: float) -> dict[str, ir.Value]:
    """Return the sums that some estimators need, each once."""
    return {name: total for some in names for name, total in ESTIMATORS[some].sums(rows, tau).items()}


def point_estimates(
    names: Sequence[str], totals: Mapping[str, float], events: float, delta: float
) -> tuple[PointEstimate, ...]:
    """Return the estimates whose values are finite, with normal confidence intervals; skip the others.

    Args:
        names: The estimators.
        totals: What the sums of ``point_sums`` came to.
        events: T, all events of the window.
        delta: The share of intervals that may miss.
    """
    finished = {name: ESTIMATORS[name].finish(totals, events) for name in names}
    return tuple(
        PointEstimate(name, min(max(moments.value, 0.0), 1.0), *_ends(moments, delta), moments.on_model)
        for name, moments in finished.items()
        if isfinite(moments.value)
    )


def estimated_gain(
    names: Sequence[str], totals: Mapping[str, float], events: float, delta: float
) -> EstimatedGain | None:
    """Return the gain over logging of the first doubly robust estimator among some; None if there is none.

    Args:
        names: The estimators.
        totals: What the sums of ``point_sums`` came to.
        events: T, all events of the window.
        delta: The share of intervals that may miss.
    """
    for name in names:
        moments = ESTIMATORS[name].finish(totals, events)
        if moments.gain is None:
            continue
        if moments.gain_variance is None:
            return EstimatedGain(name, moments.gain, None, None, moments.on_model)
        lower, upper = normal_ends(moments.gain, moments.gain_variance, delta)
        return EstimatedGain(name, moments.gain, max(lower, -1.0), min(upper, 1.0), moments.on_model)
    return None


def _ends(moments: Moments, delta: float) -> tuple[float | None, float | None]:
    """Return the ends of a normal confidence interval, inside the range of rewards."""
    if moments.variance is None:
        return None, None
    lower, upper = normal_ends(moments.value, moments.variance, delta)
    return min(max(lower, 0.0), 1.0), min(max(upper, 0.0), 1.0)
