"""Doubt: what a hidden segment could do to the certified gain, and how large one would have to be (tipping point).

Propensities are shares of the window's events, so that for deterministic loggers odds-ratio models of hidden
confounding (Rosenbaum, marginal sensitivity) are undefined. What can be wrong is that events of a context that were
shown an action differ from those that were not. Let rho bound the ratio between what the action earns on the two

    E[Y(a) | x, shown a] / E[Y(a) | x, not shown a]   within [1 / rho, rho],   and likewise of 1 - Y.

With m the mean reward of the first, that of the second is at least m / rho, and at least 1 - rho * (1 - m); any of the
two lines a * m + b may be chosen before rewards are seen. A shown event stands for itself and for d = probability *
(1 - p) / p others, against e of its own: instead of u = d - e it counts a * d - e, and b * d is certain. The second
line is higher where m > rho / (1 + rho). Upper ends are lower ends of 1 - reward, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warmstart.estimators.intervals.gain_bets import UNKNOWN, GainSums, gain_evidence, lower_gain
from warmstart.estimators.intervals.terms import Coefficients

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Ends

    Floats = NDArray[np.float64]

# Tipping points are among these: each is a statement about all smaller doubts, so that none between is missed.
DOUBTS = np.array([*np.arange(1.01, 2, 0.01), *np.arange(2, 5, 0.05), *np.arange(5, 20.01, 0.25)]).round(2)


class Line(NamedTuple):
    """A line below what others would earn: slope * m + start, m being what events that were shown the action earned.

    ``rates``: the mean rewards that it is taken for, where nothing is known of them; None for all.
    """

    slope: float
    start: float
    rates: Floats | None = None


# Others earn what shown ones do.
NO_DOUBT = Line(1.0, 0.0)


def lines(doubt: float, rate: float | None) -> list[Line]:
    """Return the higher of the two lines that a doubt leaves, by an expected reward; both if nothing is known of it."""
    border = doubt / (1 + doubt)
    rare, often = Line(1 / doubt, 0.0), Line(doubt, 1 - doubt)
    if rate is not None:
        return [often if rate > border else rare]
    below, above = UNKNOWN[border >= UNKNOWN], UNKNOWN[border < UNKNOWN]
    return [rare._replace(rates=below), *([often._replace(rates=above)] if len(above) else [])]


@dataclass(frozen=True, eq=False)
class GainBins:
    """Events and rewards by the others that an event stands for (d) and by what counts against it (e).

    ``stands_for``, ``against``: the ends of each bin; ``n``, ``rewards``: its events and rewards; the sums over events
    of d and e, of these times the reward, and of their products, the last times e * (1 - e) of expected rewards e if
    these are known. ``baselines``: the expected reward of a bin's events, None if nothing was known before the window.
    """

    stands_for: tuple[Floats, Floats]
    against: tuple[Floats, Floats]
    n: Floats
    rewards: Floats
    sums: tuple[Floats, Floats]
    won: tuple[Floats, Floats]
    products: tuple[Floats, Floats, Floats]
    baselines: Floats | None
    traffic: float

    @property
    def flipped(self) -> GainBins:
        """Return the same events with 1 - reward in the place of every reward."""
        won = self.sums[0] - self.won[0], self.sums[1] - self.won[1]
        baselines = None if self.baselines is None else 1 - self.baselines
        return replace(self, rewards=np.maximum(self.n - self.rewards, 0.0), won=won, baselines=baselines)

    @cached_property
    def plain(self) -> GainSums:
        """Return events by u = d - e, without doubt."""
        return self.at(np.ones_like(self.n), np.zeros_like(self.n))

    def at(self, slope: Floats, start: Floats, rates: Floats | None = None) -> GainSums:
        """Return events by u = slope * d - e, with start * d for certain.

        Args:
            slope: What the others that an event stands for count, for each bin.
            start: What is certain of each of them.
            rates: The mean rewards that are thought of, where nothing is known of them and these are not all.
        """
        low, high = slope * self.stands_for[0] - self.against[1], slope * self.stands_for[1] - self.against[0]
        events, rewards = (slope * part[0] - part[1] for part in (self.sums, self.won))
        by_u = Coefficients.of_bins((low, high), (self.n, events), (self.rewards, rewards))
        of_others, of_both, of_own = self.products
        variance = float((slope * slope * of_others - 2 * slope * of_both + of_own).sum())
        baselines = None if self.baselines is None else np.tile(self.baselines, 2)
        return GainSums(by_u, baselines, self.traffic, variance, float((start * self.sums[0]).sum()), rates)

    def under(self, doubt: float, line: Line | None = None) -> list[GainSums]:
        """Return events by u at the worst that a doubt leaves possible; two ways to sum them if no reward is known.

        Args:
            doubt: rho.
            line: One of its lines to take for all; by default those that suit expected rewards.
        """
        if line is not None:
            return [self.at(np.full_like(self.n, line.slope), np.full_like(self.n, line.start), line.rates)]
        if self.baselines is not None:
            high = self.baselines > doubt / (1 + doubt)
            return [self.at(np.where(high, doubt, 1 / doubt), np.where(high, 1 - doubt, 0.0))]
        one = np.ones_like(self.n)
        return [self.at(line.slope * one, line.start * one, line.rates) for line in lines(doubt, None)]


def doubted_gain_ends(bins: GainBins, doubt: float, delta: float) -> Ends:
    """Return the ends of the gain, per event of supported traffic, if hidden segments are no larger than a doubt.

    Args:
        bins: The events.
        doubt: rho, at least 1.
        delta: The share of intervals that may miss.
    """
    if bins.traffic <= 0:
        return 0.0, 0.0
    limit = math.log(2 / delta)
    return _lower(bins.under(doubt), limit), -_lower(bins.flipped.under(doubt), limit)


def _lower(parts: list[GainSums], limit: float) -> float:
    """Return the lower end; what is possible at the least where nothing can vary."""
    varied = all(part.variance > 0 for part in parts)
    return lower_gain(parts, limit) if varied else min(part.least for part in parts)


def tipping_point(bins: GainBins, delta: float, *, above: bool, threshold: float = 0.0) -> float | None:
    """Return the largest doubt at which, and at all smaller ones, a gain beyond a threshold is certain; None if none.

    Args:
        bins: The events.
        delta: The share of intervals that may miss.
        above: Whether the gain is above the threshold, rather than below it.
        threshold: A gain per event of supported traffic; by default it is the sign that is asked for.
    """
    if bins.traffic <= 0:
        return None
    limit, used, least = math.log(2 / delta), bins if above else bins.flipped, threshold if above else -threshold

    def is_sure(parts: list[GainSums]) -> bool:
        if min(part.least for part in parts) > least:
            return True
        return all(part.variance > 0 for part in parts) and gain_evidence(parts, limit)(least) >= limit

    if not is_sure([used.plain]):
        return None
    return last_sure(lambda doubt: is_sure(used.under(doubt)), DOUBTS.tolist())


def last_sure(is_sure: Callable[[float], bool], doubts: Iterable[float]) -> float:
    """Return the last of growing doubts at which, and at all before it, something is sure; 1 if it is at none."""
    largest = 1.0
    for doubt in doubts:
        if not is_sure(doubt):
            break
        largest = doubt
    return largest
