"""The ends of a value and of a gain at any doubt, from sums by event, by unit or by epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from warmstart.estimators import ips
from warmstart.estimators.intervals import (
    Coefficients,
    EpochTotals,
    GainBins,
    TermSums,
    UnitTotals,
    bets_ends,
    doubted_gain_ends,
    gain_evidence,
    last_sure,
    lines,
    log_sum,
    lower_unit_gain,
    tipping_point,
    unit_value_ends,
)

if TYPE_CHECKING:
    from warmstart.estimators.epochs import EpochSums
    from warmstart.estimators.gain import Levels
    from warmstart.estimators.rows import WeightedRows
    from warmstart.estimators.units import UnitSums
    from warmstart.estimators.weights import Clip

    Ends = tuple[float, float]

# By unit and by epoch every doubt is a look at all of them: tipping points are told apart less finely.
FEW_DOUBTS = np.array(
    [1.01, 1.03, *np.arange(1.05, 1.5, 0.05), *np.arange(1.5, 2, 0.1), *np.arange(2, 4, 0.25), 4, 5, 7, 10, 20]
)


class DoubtedGain(Protocol):
    """A gain per event of supported traffic, at any doubt."""

    def ends(self, doubt: float, delta: float) -> Ends:
        """Return the ends of the gain if hidden segments are no larger than a doubt."""
        ...

    def tipping(self, delta: float, *, above: bool, threshold: float = 0.0) -> float | None:
        """Return the largest doubt at which, and at all smaller ones, the gain is above a threshold, or below it."""
        ...


@dataclass(frozen=True, eq=False)
class ByEvent:
    """The gain of independent events."""

    bins: GainBins

    def ends(self, doubt: float, delta: float) -> Ends:
        """Return the ends of the gain at a doubt."""
        return doubted_gain_ends(self.bins, doubt, delta)

    def tipping(self, delta: float, *, above: bool, threshold: float = 0.0) -> float | None:
        """Return where the gain tips."""
        return tipping_point(self.bins, delta, above=above, threshold=threshold)


@dataclass(frozen=True, eq=False)
class ByUnit:
    """The gain where rewards depend on each other within units, on ``traffic`` supported events."""

    units: UnitSums
    traffic: float

    def ends(self, doubt: float, delta: float) -> Ends:
        """Return the ends of the gain at a doubt."""
        limit, below = math.log(2 / delta), self._parts(doubt, above=True)
        # Without an expected reward both sides have the same lines.
        same = self.units.rate is None
        above = [part.flipped for part in below] if same else self._parts(doubt, above=False)
        return lower_unit_gain(below, self.traffic, limit), -lower_unit_gain(above, self.traffic, limit)

    def tipping(self, delta: float, *, above: bool, threshold: float = 0.0) -> float | None:
        """Return where the gain tips."""
        limit, least = math.log(2 / delta), threshold if above else -threshold

        def is_sure(doubt: float) -> bool:
            parts = self._parts(doubt, above=above)
            # Where no unit's gain could vary, no bet can be planned, and what is possible at the least decides.
            if any(part.independent <= 0 for part in parts):
                return min(part.span(self.traffic)[0] for part in parts) > least
            return log_sum(gain_evidence(parts, self.traffic, limit)(least)) >= limit

        return _last_sure(is_sure)

    def _parts(self, doubt: float, *, above: bool) -> list[UnitTotals]:
        """Return the units at the worst that a doubt leaves possible; of 1 - reward for what lies below 0."""
        parts = [self.units.gains(line) for line in lines(doubt, _of_side(self.units.rate, above=above))]
        return parts if above else [part.flipped for part in parts]


@dataclass(frozen=True, eq=False)
class ByEpoch:
    """The gain over epochs, on ``traffic`` supported events; ``rate``: the mean reward known before the window."""

    sums: EpochSums
    traffic: float
    rate: float | None

    def ends(self, doubt: float, delta: float) -> Ends:
        """Return the ends of the gain at a doubt."""
        below, above = (self._lower(doubt, delta, above=side) for side in (True, False))
        return below / self.traffic, -above / self.traffic

    def tipping(self, delta: float, *, above: bool, threshold: float = 0.0) -> float | None:
        """Return where the gain tips."""
        least = self.traffic * (threshold if above else -threshold)
        return _last_sure(lambda doubt: self._lower(doubt, delta, above=above) > least)

    def _lower(self, doubt: float, delta: float, *, above: bool) -> float:
        """Return the lower end of the gain, or that of 1 - reward: the best of the lines in question, for its share."""
        ways = self.sums.doubted_gains(doubt, _of_side(self.rate, above=above), above=above)
        return max(EpochTotals.of(points).ends(delta / len(ways))[0] for points in ways)


def _last_sure(is_sure: Callable[[float], bool]) -> float | None:
    """Return the last of a few doubts up to which something is sure; None if it is not without any."""
    return last_sure(is_sure, FEW_DOUBTS.round(2).tolist()) if is_sure(1.0) else None


def _of_side(rate: float | None, *, above: bool) -> float | None:
    return rate if above or rate is None else 1 - rate


def certified_value_ends(
    weighted: WeightedRows,
    tau: Clip,
    propensity: str,
    lost: float,
    levels: Levels,
    *,
    units: UnitSums | None,
    epochs: EpochSums | None,
) -> Ends:
    """Return certified bounds of what a policy is expected to earn on the window's traffic, under a doubt.

    Betting intervals, whatever the method of the value's own. Without an expected reward both lines of
    ``intervals.doubt`` are tried, each with half of delta.

    Args:
        weighted: The weighted table.
        tau: The clipping constant.
        propensity: The column of the window's own propensities.
        lost: The share of traffic that is unsupported, clipped or undecided: rewards there may be anything.
        levels: The confidence level, the doubt, and the mean reward that was known before the window, if any.
        units: What is known of units, if events have them.
        epochs: What is known of epochs, if propensities are counted within them.
    """
    rate, delta = levels.rate, levels.delta if levels.rate is not None else levels.delta / 2
    others = ips.others_weight(weighted.engine, weighted.table, tau, propensity) / weighted.events

    def ends(slope: float) -> Ends:
        if epochs is not None:
            lower, upper = EpochTotals.of(epochs.doubted_value(slope)).ends(delta)
            return lower / weighted.events, upper / weighted.events
        if units is not None:
            return unit_value_ends(units.value(propensity, slope), weighted.events, delta)
        by_weight = ips.events_by_weight(weighted.engine, weighted.table, tau, propensity, slope)
        return bets_ends(_terms(by_weight, weighted.events), delta)

    # Upper ends are lower ends of 1 - reward, of which others earn less the rest of what they count.
    below, above = (lines(levels.doubt, _of_side(rate, above=side)) for side in (True, False))
    results = {slope: ends(slope) for slope in {line.slope for line in (*below, *above)}}
    lower = max(results[line.slope][0] + line.start * others for line in below)
    upper = min(results[line.slope][1] + (1 - line.slope - line.start) * others for line in above)
    return max(lower, 0.0), min(upper + lost, 1.0)


def _terms(by_weight: Coefficients, events: float) -> TermSums:
    c, n, s = by_weight.values, by_weight.events, by_weight.rewards
    weights = float((c * n).sum()), float((c * c * n).sum())
    largest = float(c.max(initial=0.0))
    return TermSums(events, float((c * s).sum()), float((c * c * s).sum()), *weights, largest, largest, by_weight)
