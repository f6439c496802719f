"""The direct method (DM): the mean of what the reward model expects of the policy's choices.

It has no interval: how wrong the model is, it does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.core import EXPECTED, PROBABILITY
from warmstart.estimators.moments import Moments

if TYPE_CHECKING:
    import ibis.expr.types as ir


def model_sums(rows: ir.Table, _: float) -> dict[str, ir.Value]:
    """Sum over events D(x) = sum over actions of probability * expected reward."""
    return {"model": (rows.context_n * rows[PROBABILITY] * rows[EXPECTED]).sum()}


def finish(totals: Mapping[str, float], events: float) -> Moments:
    """Return the mean of D, all of it by the model."""
    return Moments(totals["model"] / events, None, on_model=1.0)
