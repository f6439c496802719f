"""Hoeffding's interval (Hoeffding 1963, Theorem 2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends, TermSums


def hoeffding_ends(terms: TermSums, delta: float) -> Ends:
    """Return Hoeffding's interval, each term with its own range.

    V -+ sqrt(ln(2 / delta) * sum of coefficient^2 / 2) / T
    """
    reach = math.sqrt(math.log(2 / delta) * terms.range_square_total / 2) / terms.events
    return terms.mean - reach, terms.mean + reach
