"""Normal (Wald) interval."""

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
