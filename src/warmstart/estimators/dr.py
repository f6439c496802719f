"""Doubly robust estimates (DR): the reward model's expectation, corrected by weighted residuals.

dr         (sum(D) + sum(e * (r - f))) / T     e the clipped weight, f the reward model, D its mean in the context
switch-dr  the same with e = 0 where the propensity is below tau
shrunk-dr  the same with e = w / (1 + (tau * w)^2), w = probability / propensity
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from warmstart.core import EXPECTED, MODEL_VALUE
from warmstart.estimators import dm

if TYPE_CHECKING:
    import ibis.expr.types as ir

    Weight = Callable[[ir.Table, float], ir.Value]


def sums(rows: ir.Table, tau: float, weight: Weight) -> dict[str, ir.Value]:
    """Sum D, D^2, the residuals e * (r - f), their squares, and D times them, over events."""
    e, f = weight(rows, tau), rows[EXPECTED]
    residual = e * (rows.reward_sum - rows.n * f)
    squared = e * e * (rows.reward_sq_sum - 2.0 * f * rows.reward_sum + rows.n * f * f)
    own = {
        "residual": residual.sum(),
        "residual_sq": squared.sum(),
        "crossed": (rows[MODEL_VALUE] * residual).sum(),
    }
    return {**dm.sums(rows, tau), **{f"{weight.__name__}_{name}": total for name, total in own.items()}}


def finish(totals: Mapping[str, float], events: float, weight: Weight) -> tuple[float, float]:
    """Return the mean of D + e * (r - f) and its variance."""
    residual, squares, crossed = (
        totals[f"{weight.__name__}_{name}"] for name in ("residual", "residual_sq", "crossed")
    )
    value = (totals["model"] + residual) / events
    return value, ((totals["model_sq"] + 2 * crossed + squares) / events - value**2) / events
