"""The direct method (DM): the mean of what the reward model expects of the policy's choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.core import EXPECTED, MODEL_VALUE, PROBABILITY

if TYPE_CHECKING:
    import ibis.expr.types as ir


def sums(rows: ir.Table, _: float) -> dict[str, ir.Value]:
    """Sum over events D(x) = sum over actions of probability * expected reward, and its square."""
    expected = rows.context_n * rows[PROBABILITY] * rows[EXPECTED]
    return {"model": expected.sum(), "model_sq": (expected * rows[MODEL_VALUE]).sum()}


def finish(totals: Mapping[str, float], events: float) -> tuple[float, float]:
    """Return the mean of D and its variance over contexts; how wrong the model is, it does not tell."""
    value = totals["model"] / events
    return value, (totals["model_sq"] / events - value**2) / events
