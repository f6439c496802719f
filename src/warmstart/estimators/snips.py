"""Self-normalised inverse propensity scoring (SNIPS): as if traffic that is not supported earned like the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.engine import float_literal
from warmstart.estimators import ips
from warmstart.estimators.moments import Moments, Term, Terms
from warmstart.estimators.weights import Clip, clipped

if TYPE_CHECKING:
    import ibis.expr.types as ir


def sums(rows: ir.Table, tau: Clip) -> dict[str, ir.Value]:
    """Sum what IPS sums, and c^2 * reward."""
    c = clipped(rows, tau)
    return {**ips.sums(rows, tau), "reward_by_weight_sq": (c * c * rows.reward_sum).sum()}


def influence(rows: ir.Table, tau: Clip, moments: Moments) -> Terms:
    """Return c * (reward - value), for sums by unit."""
    c = clipped(rows, tau)
    return {"value": Term(c * float_literal(-moments.value), c)}


def finish(totals: Mapping[str, float], _: float, by_unit: Mapping[str, float] | None = None) -> Moments:
    """Return sum(c * r) / sum(c) and its variance, that of a ratio, linearised: sum(c^2 * (r - value)^2) / sum(c)^2.

    ``by_unit``: the sum over units of the squared sums of c * (r - value). One event has no variance.
    """
    weight = totals["propensity_weight"]
    if weight <= 0:
        return Moments(float("nan"), None)
    value = totals["propensity_reward"] / weight
    if by_unit:
        return Moments(value, by_unit["value"] / weight**2)
    squares = totals["propensity_reward_sq"] - 2 * value * totals["reward_by_weight_sq"]
    variance = (squares + value**2 * totals["propensity_weight_sq"]) / weight**2
    return Moments(value, variance if totals["propensity_events"] > 1 else None)
