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

    from warmstart.estimators.weights import Clip


def model_terms(rows: ir.Table, _: Clip) -> dict[str, ir.Value]:
    """Return terms of the sum over events of D(x) = sum over actions of probability * expected reward."""
    return {"model": rows.context_n * rows[PROBABILITY] * rows[EXPECTED]}


def finish(totals: Mapping[str, float], events: float, _: Mapping[str, float] | None = None) -> Moments:
    """Return the mean of D, all of it by the model."""
    return Moments(totals["model"] / events, None, on_model=1.0)
