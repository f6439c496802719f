"""Choose tau from contexts and actions, never from the rewards of the evaluated window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ibis

from warmstart.core.tau import TauChoice, TauPoint

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

CANDIDATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
# Without a training window nobody knows the rate; said wherever it is used.
ASSUMED_RATE = 0.05


def choose_tau(rows: ir.Table, cells: Cells, propensity: str, rate: float | None) -> TauChoice:
    """Return the tau with the least (rate * lost)^2 + rate * sum of n * c^2 / T^2.

    c = probability / max(propensity, tau); ``lost`` is the share of traffic that clipping takes away, if rewards came
    at the same rate everywhere; the other summand is then about the variance. The largest of equals, since it has the
    smaller weights.
    """
    events, known = float(cells.evaluated.window.events), rate
    rate = ASSUMED_RATE if known is None else known
    found = cells.engine.fetch(clipping_sums(rows, propensity))[0]
    points = []
    for i, tau in enumerate(CANDIDATES):
        lost = float(found[f"lost_{i}"] or 0.0) / events
        variance = rate * float(found[f"weight_sq_{i}"] or 0.0) / events**2
        points.append(TauPoint(tau, lost, math.sqrt(variance), math.sqrt((rate * lost) ** 2 + variance)))
    least = min(point.error for point in points)
    best = max(point.tau for point in points if point.error <= least * (1 + 1e-9))
    return TauChoice(best, rate, known is not None, tuple(points))


def clipping_sums(rows: ir.Table, propensity: str) -> ir.Table:
    """Sum over a policy's choices what each candidate would cost."""
    shown = rows.filter(rows.n > 0, rows.h > 0, rows[propensity] > 0)
    p = shown[propensity]
    sums = {}
    for i, tau in enumerate(CANDIDATES):
        floor = ibis.literal(tau, type="float64")
        c = shown.h / ibis.greatest(p, floor)
        sums[f"lost_{i}"] = (shown.n * (shown.h / p - c)).sum()
        sums[f"weight_sq_{i}"] = (c * c * shown.n).sum()
    return shown.agg(**sums)
