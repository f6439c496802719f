"""Confidence intervals by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warmstart.core import UsageError, quoted
from warmstart.estimators.intervals.bernstein import bernstein_ends
from warmstart.estimators.intervals.bets import bets_ends
from warmstart.estimators.intervals.bootstrap import bootstrap_ends
from warmstart.estimators.intervals.gamma import gamma_ends
from warmstart.estimators.intervals.hoeffding import hoeffding_ends
from warmstart.estimators.intervals.kl import kl_ends
from warmstart.estimators.intervals.terms import Ends, TermSums
from warmstart.estimators.intervals.unit_bets import unit_value_ends
from warmstart.results import Guarantee, Interval, IntervalName


def _bets(terms: TermSums, delta: float) -> Ends:
    if terms.epochs is not None:
        lower, upper = terms.epochs.ends(delta)
        return lower / terms.events, upper / terms.events
    if terms.units is not None:
        return unit_value_ends(terms.units, terms.events, delta)
    return bets_ends(terms, delta)


METHODS: Mapping[str, tuple[Callable[[TermSums, float], Ends], Guarantee]] = {
    "kl": (kl_ends, "finite-sample"),
    "hoeffding": (hoeffding_ends, "finite-sample"),
    "bernstein": (bernstein_ends, "finite-sample"),
    "bets": (_bets, "finite-sample"),
    "gamma": (gamma_ends, "approximate"),
    "bootstrap": (bootstrap_ends, "approximate"),
}
NEED_COEFFICIENTS = ("bets", "bootstrap")


def interval(terms: TermSums, *, delta: float = 0.05, method: IntervalName = "bets") -> Interval:
    """Return the confidence interval of a mean's expectation given contexts and actions.

    Rewards lie in [0, 1], so no end is below 0 or above the mean coefficient. Only "bets" say the same of r and 1 - r.
    """
    if method not in METHODS:
        raise UsageError(f"There is no interval {quoted(method)}.", f"Choose one of {', '.join(METHODS)}.")
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie between 0 and 1, and is {delta}.")
    compute, guarantee = METHODS[method]
    lower, upper = (end * terms.scale for end in compute(terms, delta))
    most = terms.range_total / terms.events * terms.scale
    mean = min(max(terms.mean * terms.scale, 0.0), most)
    return Interval(min(max(lower, 0.0), mean), max(min(upper, most), mean), delta, method, guarantee)
