"""Normal intervals: around a mean (Wald), and for a mean of rewards in [0, 1] by its score (Wilson)."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends


def normal_ends(mean: float, variance: float, delta: float) -> Ends:
    """Return the normal (Wald) interval mean -+ z * sd; approximate."""
    reach = -NormalDist().inv_cdf(delta / 2) * math.sqrt(max(variance, 0.0))
    return mean - reach, mean + reach


def score_ends(mean: float, variance: float, delta: float) -> Ends:
    """Return the means m with (mean - m)^2 <= z^2 * variance * m * (1 - m) / (mean * (1 - mean)); approximate.

    A mean of rare rewards that is too small by chance has too small a variance as well. So each m is judged by the
    variance that it would have itself (Wilson's interval, the events being those that such a variance tells of); both
    ends stay between 0 and 1, and 1 - reward has the ends 1 - upper and 1 - lower.
    """
    spread = mean * (1 - mean)
    if variance <= 0 or spread <= 0:
        return normal_ends(mean, variance, delta)
    k = NormalDist().inv_cdf(delta / 2) ** 2 * variance / spread
    reach = math.sqrt(k * k + 4 * k * spread)
    return (2 * mean + k - reach) / (2 * (1 + k)), (2 * mean + k + reach) / (2 * (1 + k))
