"""Choose tau from contexts and actions, never from the rewards of the evaluated window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ibis
import numpy as np

from warmstart.results import TauChoice, TauPoint

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

CANDIDATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
# Without a training window nobody knows the rate: the tau that loses least against the best at any of these.
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def choose_tau(rows: ir.Table, cells: Cells, propensity: str, rate: float | None) -> TauChoice:
    """Return the tau with the least (rate * lost)^2 + rate * sum of n * c^2 / T^2.

    c = probability / max(propensity, tau); ``lost`` is the share of traffic that clipping takes away, if rewards came
    at the same rate everywhere; the other summand is then about the variance. Where the rate is not known: the tau
    whose error is the smallest multiple of the least one, whatever the rate. The largest of equals: smaller weights.
    """
    events = float(cells.evaluated.window.events)
    found = cells.engine.fetch(clipping_sums(rows, propensity))[0]
    lost = np.array([float(found[f"lost_{i}"] or 0.0) for i in range(len(CANDIDATES))]) / events
    spread = np.array([float(found[f"weight_sq_{i}"] or 0.0) for i in range(len(CANDIDATES))]) / events**2
    rates = np.array(RATES if rate is None else [rate])[:, None]
    errors = np.sqrt((rates * lost) ** 2 + rates * spread)
    regrets = (errors / np.maximum(errors.min(axis=1, keepdims=True), 1e-300)).max(axis=0)
    best = max(tau for tau, regret in zip(CANDIDATES, regrets, strict=True) if regret <= regrets.min() * (1 + 1e-9))
    shown = float(np.exp(np.log(rates).mean()))
    curve = tuple(
        TauPoint(tau, float(some), math.sqrt(shown * part), math.sqrt((shown * some) ** 2 + shown * part))
        for tau, some, part in zip(CANDIDATES, lost, spread, strict=True)
    )
    return TauChoice(best, shown, rate is not None, curve)


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
