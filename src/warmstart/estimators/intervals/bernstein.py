"""Empirical Bernstein interval (Maurer and Pontil 2009)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends, TermSums


def bernstein_ends(terms: TermSums, delta: float) -> Ends:
    """Return the empirical Bernstein interval (their Theorem 4), with the largest coefficient present as range.

    Each end fails where the mean or the variance strays: half of delta over two statements, hence ln(4 / delta). Their
    proof needs independent terms only: the mean of unequal variances is at most the expected sample variance.
    """
    events, mean = terms.events, terms.mean
    if events < 2:
        return 0.0, terms.bound
    log = math.log(4 / delta)
    variance = max(terms.square_total - events * mean**2, 0.0) / (events - 1)
    reach = math.sqrt(2 * variance * log / events) + 7 * terms.largest * log / (3 * (events - 1))
    return mean - reach, mean + reach
