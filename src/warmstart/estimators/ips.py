"""Inverse propensity scoring (IPS, IPW), clipped: the mean of reward * probability / max(propensity, tau).

Given contexts and actions it never overestimates in expectation where propensities are counts of the evaluated window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import BEFORE, EPOCH, PROPENSITY
from warmstart.engine import fetch_ordered, float_literal
from warmstart.estimators.intervals import RATIO, SMALLEST, Coefficients, TermSums, bin_ends
from warmstart.estimators.moments import Moments, Term, Terms
from warmstart.estimators.weights import Clip, clipped, log_bin

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


def sums(rows: ir.Table, tau: Clip, propensity: str = PROPENSITY) -> dict[str, ir.Value]:
    """Sum c * reward, its square, c and c^2 over events, c the clipped weight with a column of propensities."""
    c = clipped(rows, tau, propensity)
    totals = {
        "reward": (c * rows.reward_sum).sum(),
        "reward_sq": (c * c * rows.reward_sq_sum).sum(),
        "weight": (c * rows.n).sum(),
        "weight_sq": (c * c * rows.n).sum(),
        "largest": (rows.n > 0).ifelse(c, 0.0).max(),
        "events": (c > 0).ifelse(rows.n, 0.0).sum(),
    }
    return {f"{propensity}_{name}": total for name, total in totals.items()}


def finish(totals: Mapping[str, float], events: float, by_unit: Mapping[str, float] | None = None) -> Moments:
    """Return the mean of c * reward and its variance, ``by_unit`` if that is known."""
    value = totals["propensity_reward"] / events
    if by_unit:
        return Moments(value, by_unit["value"] / events**2)
    return Moments(value, (totals["propensity_reward_sq"] / events - value**2) / events)


def influence(rows: ir.Table, tau: Clip, moments: Moments) -> Terms:
    """Return c * reward less the value, for sums by unit."""
    return {"value": Term(float_literal(-moments.value), clipped(rows, tau))}


def unit_terms(rows: ir.Table, tau: Clip, propensity: str, *, doubt: bool = False) -> Terms:
    """Return what a unit could earn, c, and what it earns, c * reward; by epoch also what it is expected to earn.

    Under ``doubt`` also the part of these that a shown event stands for itself, c * propensity.
    """
    c = clipped(rows, tau, propensity)
    parts = {"": c} | ({"_own": c * rows[propensity].coalesce(0.0)} if doubt else {})
    terms: Terms = {}
    for name, part in parts.items():
        terms |= {f"{propensity}_weight{name}": Term(constant=part), f"{propensity}_reward{name}": Term(slope=part)}
        if EPOCH in rows.columns and BEFORE in rows.columns:
            terms[f"{propensity}_expected{name}"] = Term(part * rows[BEFORE].coalesce(1.0))
    return terms


def terms(
    totals: Mapping[str, float], events: float, bound: float, coefficients: Coefficients | None, propensity: str
) -> TermSums:
    """Return what a confidence interval for the value needs.

    Args:
        totals: The sums of ``sums``.
        events: T, all events of the window.
        bound: What no weight exceeds, known beforehand: 1 / tau.
        coefficients: Rewards by weight, for the intervals that need them.
        propensity: The column of propensities that was summed with.
    """
    names = ("reward", "reward_sq", "weight", "weight_sq", "largest")
    total, square_total, weight, weight_sq, largest = (totals[f"{propensity}_{name}"] for name in names)
    return TermSums(events, total, square_total, weight, weight_sq, largest, bound, coefficients)


def unweighted(totals: Mapping[str, float], events: float) -> Coefficients:
    """Return events and rewards that all have the weight 1, as those of the logging policy."""
    return Coefficients(np.ones(1), np.array([events]), np.array([totals["propensity_reward"]]))


def weight_at(rows: ir.Table, tau: Clip, propensity: str, slope: float | None) -> ir.Value:
    """Return the clipped weight, or what is left of it if others count ``slope``."""
    c = clipped(rows, tau, propensity)
    if slope is None:
        return c
    p = rows[propensity]
    return c * (p + (1.0 - p) * float_literal(slope))


def others_weight(engine: Engine, rows: ir.Table, tau: Clip, propensity: str) -> float:
    """Return how many events shown ones stand for beside themselves: the sum of c * (1 - propensity)."""
    others = clipped(rows, tau, propensity) * (1.0 - rows[propensity]) * rows.n
    return float(engine.fetch(rows.agg(others=others.sum()))[0]["others"] or 0.0)


def events_by_weight(
    engine: Engine, rows: ir.Table, tau: Clip, propensity: str, slope: float | None = None
) -> Coefficients:
    """Return the histogram of events and rewards over the logarithm of their weight, in steps of RATIO.

    Args:
        engine: The engine that holds the rows.
        rows: The weighted table.
        tau: The clipping constant.
        propensity: The column of propensities.
        slope: What the others that a shown event stands for count, if not as much as itself (see intervals.doubt).
    """
    c = weight_at(rows, tau, propensity, slope)
    shown = rows.mutate(c=c).filter(rows.n > 0, c > 0)
    bins = shown.group_by(bin=log_bin(shown.c, RATIO, SMALLEST))
    sums = {"n": shown.n, "weight": shown.c * shown.n, "rewards": shown.reward_sum, "won": shown.c * shown.reward_sum}
    result = fetch_ordered(engine, bins.agg(**{name: part.sum() for name, part in sums.items()}), ["bin"])
    ends = bin_ends(result["bin"].astype(np.int64), RATIO, SMALLEST)
    return Coefficients.of_bins(ends, (result["n"], result["weight"]), (result["rewards"], result["won"]))
