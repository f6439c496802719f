"""The rule for tau, the clipping constant: one for audit and evaluate, and never a look at evaluated rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import PART, PROBABILITY, PROPENSITY
from warmstart.estimators.weights import importance_weight
from warmstart.results import TauChoice, TauPoint

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import Engine

    Floats = NDArray[np.float64]

CANDIDATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
# Without a training window nobody knows the rate: the tau that loses least against the best at any of these. A rate
# above a half counts as one minus it, so that rewards and their lack choose the same tau.
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
MIDDLING_TAU = 0.05
LEAST_RATE = 1e-6


def choose_tau(engine: Engine, rows: ir.Table, events: float, rate: float | None) -> TauChoice:
    """Return the tau with the least expected error of the value.

    Where the rate is not known: the tau whose error is the smallest multiple of the least one, whatever the rate. The
    largest of equals: smaller weights.

    Args:
        engine: Where the rows are.
        rows: The weighted table.
        events: T, all events of the window.
        rate: The mean reward that was known before the window, if any.
    """
    lost, squares = clipping_cost(engine, rows, events, CANDIDATES)
    rates = np.array(RATES if rate is None else [max(min(rate, 1 - rate), LEAST_RATE)])[:, None]
    errors = np.sqrt(squared_error(lost, squares, rates))
    regrets = (errors / np.maximum(errors.min(axis=1, keepdims=True), 1e-300)).max(axis=0)
    best = max(tau for tau, regret in zip(CANDIDATES, regrets, strict=True) if regret <= regrets.min() * (1 + 1e-9))
    shown = float(np.exp(np.log(rates).mean()))
    curve = tuple(
        TauPoint(tau, float(share), math.sqrt(shown * part), math.sqrt(squared_error(share, part, shown)))
        for tau, share, part in zip(CANDIDATES, lost, squares, strict=True)
    )
    return TauChoice(best, shown, rate is not None, curve)


def squared_error(lost: Any, squares: Any, rate: Any) -> Any:
    """Return (rate * lost)^2 + rate * squares: bias and variance, if rewards came at the same rate everywhere."""
    return (rate * lost) ** 2 + rate * squares


def clipping_cost(engine: Engine, rows: ir.Table, events: float, taus: Sequence[float]) -> tuple[Floats, Floats]:
    """Return for each tau what the mean weight lacks of what it should be, and the sum of n * weight^2 / T^2.

    Weights should add up to the traffic on which the policy chooses what was shown; where nobody counts what was not,
    to all that it decides. Wrong propensities may also make them too many.

    Args:
        engine: Where the rows are.
        rows: The weighted table.
        events: T, all events of the window.
        taus: The candidates.
    """
    h, counted = rows[PROBABILITY], PART not in rows.columns
    due = rows.context_n * h
    sums = {"due": (rows.n > 0).ifelse(due, 0.0).sum() if counted else due.sum()}
    for i, tau in enumerate(taus):
        c = importance_weight(h, rows[PROPENSITY], tau)
        sums |= {f"weight_{i}": (c * rows.n).sum(), f"squares_{i}": (c * c * rows.n).sum()}
    totals = {name: float(total or 0.0) for name, total in engine.fetch(rows.agg(**sums))[0].items()}
    weight, squares = (np.array([totals[f"{name}_{i}"] for i in range(len(taus))]) for name in ("weight", "squares"))
    return np.abs(totals["due"] - weight) / events, squares / events**2


def matched_rate(engine: Engine, rows: ir.Table) -> float | None:
    """Return the self-normalised mean reward of what the policy would choose; None where there is none above zero.

    For propensities that certify nothing: there the evaluated rewards may have a say in tau.
    """
    c = importance_weight(rows[PROBABILITY], rows[PROPENSITY], MIDDLING_TAU)
    totals = engine.fetch(rows.agg(reward=(c * rows.reward_sum).sum(), weight=(c * rows.n).sum()))[0]
    return float(totals["reward"]) / float(totals["weight"]) if totals["weight"] and totals["reward"] else None
