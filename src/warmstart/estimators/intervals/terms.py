"""The sums of a mean's terms that its confidence intervals are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Lower and upper end.
Ends = tuple[float, float]
# Coefficients are told apart by this ratio; each end rounds them to its own disadvantage.
RATIO = 1.0005


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Histogram of rewards by coefficient (importance weight): ``rewards[i]`` between low[i] and high[i]."""

    low: Floats
    high: Floats
    rewards: Floats

    @classmethod
    def of_bins(cls, bins: NDArray[np.int64], rewards: Floats) -> Coefficients:
        """Read bins of the logarithm to the base RATIO."""
        margin, powers = 1e-12, bins.astype(np.float64)
        low, high = np.power(RATIO, powers), np.power(RATIO, powers + 1)
        return cls(low * (1 - margin), high * (1 + margin), rewards)


@dataclass(frozen=True)
class TermSums:
    """What an interval needs to know about the T terms of a mean.

    ``total``: sum of the terms; ``square_total``: of their squares; ``range_total, range_square_total``: of their
    coefficients and the squares of those; ``largest``: the largest coefficient present; ``bound``: what no coefficient
    exceeds, known beforehand (1 / tau). ``coefficients``, for bets: where the rewards lie.
    """

    events: float
    total: float
    square_total: float
    range_total: float
    range_square_total: float
    largest: float
    bound: float
    coefficients: Coefficients | None = None

    @property
    def mean(self) -> float:
        """Return the mean term: the value."""
        return self.total / self.events
