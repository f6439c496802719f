"""The sums of a mean's terms that its confidence intervals are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.epoch_bets import EpochTotals
    from warmstart.estimators.intervals.unit_bets import UnitTotals

    Floats = NDArray[np.float64]

# Lower and upper end.
Ends = tuple[float, float]
# Coefficients are told apart by this ratio.
RATIO = 1.01
# Coefficients below this one are in one bin, from 0.
SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Events and rewards (in [0, 1]) by coefficient: ``rewards[i]`` of ``events[i]`` events at ``values[i]``."""

    values: Floats
    events: Floats
    rewards: Floats

    @classmethod
    def of_bins(
        cls, ends: tuple[Floats, Floats], events: tuple[Floats, Floats], rewards: tuple[Floats, Floats]
    ) -> Coefficients:
        """Divide the events of each bin between its two ends, rewarded or not, so that their coefficients' sum stays.

        Logarithms of products are concave in the coefficient, so that bets can only lose by this (Jensen), and what
        they lose is of second order: (RATIO - 1)^2 / 4 of the evidence at the most.

        Args:
            ends: The ends of the bins, the lower and the upper one.
            events: Events of each bin, and the sum of their coefficients.
            rewards: Rewards of each bin, and the sum of coefficient * reward.
        """
        values = np.concatenate(ends)
        rewarded = _divided(ends, rewards)
        others = _divided(ends, (events[0] - rewards[0], events[1] - rewards[1]))
        return cls(values, rewarded + others, rewarded)

    @property
    def flipped(self) -> Coefficients:
        """Return the same events with 1 - reward in the place of every reward."""
        return Coefficients(self.values, self.events, np.maximum(self.events - self.rewards, 0.0))


def bin_ends(bins: NDArray[np.int64], ratio: float, smallest: float) -> tuple[Floats, Floats]:
    """Return the ends of bins of the logarithm to the base ``ratio``; the first one begins at 0."""
    margin, powers = 1e-9, bins.astype(np.float64)
    low, high = np.power(ratio, powers) * (1 - margin), np.power(ratio, powers + 1) * (1 + margin)
    return np.where(bins <= first_bin(ratio, smallest), 0.0, low), high


def first_bin(ratio: float, smallest: float) -> int:
    """Return the bin of the smallest coefficient that is told apart."""
    return int(np.floor(np.log(smallest) / np.log(ratio)))


def _divided(ends: tuple[Floats, Floats], part: tuple[Floats, Floats]) -> Floats:
    low, high = ends
    count = np.maximum(part[0], 0.0)
    # Of a bin that is a point, all events are at its end.
    above = np.clip((part[1] - low * count) / np.where(high > low, high - low, np.inf), 0.0, count)
    return np.concatenate([count - above, above])


@dataclass(frozen=True)
class TermSums:
    """What an interval needs to know about the T terms of a mean.

    ``total``: sum of the terms; ``square_total``: of their squares; ``range_total, range_square_total``: of their
    coefficients and the squares of those; ``largest``: the largest coefficient present; ``bound``: what no coefficient
    exceeds, known beforehand (1 / tau). ``coefficients``, for bets and the bootstrap: events and rewards by them.

    Where rewards of a unit may depend on each other, the terms are the totals of units: ``units`` by what they could
    earn and what they earned, instead of coefficients; ``heaviest``: the largest total. The mean over events is
    ``scale`` times that over units. ``epochs``: terms by epoch, where later ones may react to earlier rewards.
    """

    events: float
    total: float
    square_total: float
    range_total: float
    range_square_total: float
    largest: float
    bound: float
    coefficients: Coefficients | None = None
    units: UnitTotals | None = None
    heaviest: float | None = None
    scale: float = 1.0
    epochs: EpochTotals | None = None

    @property
    def mean(self) -> float:
        """Return the mean term."""
        return self.total / self.events
