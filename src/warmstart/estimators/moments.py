"""What an estimator knows of a value: its estimate, and the variance of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Term(NamedTuple):
    """What an event adds to a total of its unit: constant + slope * reward; None for zero."""

    constant: ir.Value | None = None
    slope: ir.Value | None = None


Terms = dict[str, Term]


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
