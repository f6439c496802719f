"""What an estimator knows of a value: its estimate, and the variance of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

# What an event of a row adds to totals of its unit, by name: constant + slope * reward; None for zero.
Terms = dict[str, tuple["ir.Value | None", "ir.Value | None"]]


@dataclass(frozen=True)
class Moments:
    """A value and its variance, None where nothing is known of it; ``on_model``: the share that rests on a model alone.

    ``gain``, ``gain_variance``: of its difference to logging per event of all traffic, logging where the policy says
    nothing; None where the estimator does not tell.
    """

    value: float
    variance: float | None
    on_model: float = 0.0
    gain: float | None = None
    gain_variance: float | None = None
