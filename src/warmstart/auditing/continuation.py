"""The log to come: which events a certified gain would be made of, if a policy's choices were shown more often.

A context's events that show an action, k, and the others, m, are about Poisson. Counts of the new window give the
action's propensity k / (k + m), so that with h = the policy's probability and s = its share in the context

    u = h * (k + m) / k - s     where that propensity is tau or more, for k events;     u = -s for other actions' events

Sums of d = u - (h - s) and of d^2 over the k events are taken in expectation, with P = 1 and A = E[1 / k] where k is
enough:

    sum of d = h * E[m] * P,     sum of d^2 = h^2 * E[m^2] * A

A is above P / E[k]: contexts of which little is shown make a gain uncertain, or leave it without support.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from warmstart.auditing.unit_power import TypicalUnits, unit_chance
from warmstart.estimators import LEVELS, Coefficients, GainSums, Points, gain_chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Counts above this are nearly normal; no count of a smaller mean reaches the second number.
MANY, MOST = 60.0, 200
# How many visits of units are drawn to tell how visits with large u meet.
DRAWN, FEWEST_DRAWN = 200_000, 20.0
# Sizes of units are told apart by this ratio, and sums of u by so many parts of the size.
RATIO, SLICES = 1.05, 20
# The part of the units that come most often.
TAIL = 0.1
# Actions that stick to units no more than this are taken for drawn anew: chance makes as much.
BY_CHANCE = 1.05
# No log is longer, in multiples of this one.
LONGEST = 1e6


@dataclass(frozen=True, eq=False)
class ChosenCells:
    """What a policy may choose, in bins: ``number`` cells, in contexts of so many ``events`` of the log (or an epoch).

    ``propensity``: how often logging showed the action; ``probability``: the policy's; ``decided``: the policy's whole
    share in the context; ``rest``: the cell's part of the context's events in which the policy has no say;
    ``favoured``: how often logging shows what the policy shows more often than logging, in the context; ``expected``:
    the mean reward of the context, shrunk; ``explored``: whether the policy's choices are to be shown.
    """

    number: Floats
    events: Floats
    propensity: Floats
    probability: Floats
    decided: Floats
    rest: Floats
    favoured: Floats
    expected: Floats
    explored: NDArray[np.bool_]

    @property
    def change(self) -> float:
        """Return on how many events the policy differs from logging (total variation)."""
        return float(self._differs.sum())

    @property
    def change_where_explored(self) -> float:
        """Return on how many of them its choices are to be shown."""
        return float(self._differs[self.explored].sum())

    @property
    def _differs(self) -> Floats:
        return self.number * self.events * np.maximum(self.probability - self.propensity, 0.0)


@dataclass(frozen=True, eq=False)
class UnitVisits:
    """How units come: ``units[i]`` of them with ``visits[i]`` events each, and how rewards and actions go together.

    ``icc``: the intraclass correlation of rewards; ``together``: sum over units of (sum of u)^2 / sum over events of
    u^2 in the log, 1 where actions do not stick to units.
    """

    visits: Floats
    units: Floats
    icc: float
    together: float = 1.0

    def heaviest(self, times: float) -> Floats:
        """Return visits in a log of so many times the units: its heaviest units come more often than those of this one.

        As for tails that fall exponentially: the excess over what 90 % of units stay below grows with the logarithm of
        how many units are above.
        """
        if times <= 1:
            return self.visits
        order = np.argsort(self.visits)
        below = np.cumsum(self.units[order]) / self.units.sum()
        usual = self.visits[order][np.searchsorted(below, 1 - TAIL)]
        growth = 1 + math.log(times) / max(math.log(TAIL * float(self.units.sum())), 1.0)
        heavier: Floats = np.round(self.visits + (growth - 1) * np.maximum(self.visits - usual, 0.0))
        return heavier

    @property
    def kept(self) -> float:
        """Return how often a visit has its unit's own action, if the others are drawn anew, so that u go ``together``.

        >>> UnitVisits(np.array([5.0]), np.array([100.0]), 0.0, together=2.0).kept
        0.5
        """
        others = float((self.units * self.visits**2).sum() / (self.units * self.visits).sum()) - 1
        return math.sqrt(min((self.together - 1) / others, 1.0)) if self.together > BY_CHANCE and others > 0 else 0.0

    def spread_over(self, share: float) -> UnitVisits:
        """Return the same where actions stick to units on a share of the traffic only, being drawn anew elsewhere."""
        return replace(self, together=1 + share * (self.together - 1))


@dataclass(frozen=True, eq=False)
class Continuation:
    """A log that goes on as before, but for a ``share`` of exploring events where that is asked for.

    ``tau``: the floor of the propensity in its evaluation; ``lift``: what the policy's choices earn more than others;
    ``known``: whether the earlier log is its training window; ``epochs``: how many epochs the log has, if its
    propensities are counted within them; ``visits``: how units come, if rewards depend within them.
    """

    cells: ChosenCells
    share: float
    tau: float
    lift: float
    known: bool = True
    epochs: float | None = None
    visits: UnitVisits | None = None

    def chance(self, times: float, delta: float) -> float:
        """Return the chance (power) that the gain is proven by a log of so many times the events of this one."""
        if self.epochs is not None:
            return self._points.chance(self._worst, times * self.epochs, delta)
        sums = self.sums(times)
        if self.visits is not None:
            return unit_chance(*self._units(sums, times), _gain(sums), delta) if sums.traffic > 0 else 0.0
        return gain_chance(sums, delta)

    def times(self, power: float, delta: float) -> float | None:
        """Return how many times the events of this log prove the gain with a chance of ``power``; None beyond reach."""
        few, enough = math.log(1 / LONGEST), math.log(LONGEST)
        if self.chance(LONGEST, delta) < power:
            return None
        while enough - few > 1e-3:
            middle = (few + enough) / 2
            few, enough = (few, middle) if self.chance(math.exp(middle), delta) >= power else (middle, enough)
        return math.exp(enough)

    def supported(self, times: float) -> float:
        """Return the part of the policy's traffic that such a log is expected to support."""
        cells, factor = self.cells, 1.0 if self.epochs is not None else times
        enough, _, _ = _counts(factor * cells.events * self._propensity, self._fewest(factor))
        traffic = cells.number * cells.events * cells.probability
        return float((traffic * enough).sum() / traffic.sum())

    def sums(self, times: float) -> GainSums:
        """Return the events by u that are expected of such a log, with their expected rewards."""
        cells, p = self.cells, self._propensity
        n = times * cells.events
        h, others = cells.probability, n * (1 - p)
        enough, shown, inverse = _counts(n * p, self._fewest(times))
        # Of a policy with several choices in a context, the others are supported as often as choices are on average.
        traffic = cells.number * n * h
        s = h + (cells.decided - h) * float((traffic * enough).sum()) / float(traffic.sum())
        # Of the k events some stand for as many others as the two sums ask for, the rest for none.
        first, second = h * others * enough, h**2 * others * (others + 1) * inverse
        stand = np.divide(first**2, second, out=np.zeros_like(first), where=second > 1e-12)
        each = np.divide(second, first, out=np.zeros_like(first), where=first > 1e-12)
        rest = enough * n * np.where(cells.explored, 1 - self.share, 1.0) * cells.rest
        # What the policy favours earns more than the rest of its context, whose mean is as it was.
        base = np.clip(cells.expected - self.lift * cells.favoured, 0.0, 1.0)
        own = np.clip(base + self.lift * (h > cells.propensity), 0.0, 1.0)
        rates = np.concatenate([own, own, base])
        values = np.concatenate([h - s + each, h - s, -s])
        events = np.tile(cells.number, 3) * np.concatenate([stand, np.maximum(shown - stand, 0.0), rest])
        e = np.tile(cells.expected, 3)
        variance = float((values**2 * events * (e * (1 - e) if self.known else 1.0)).sum())
        baselines = _levels(e) if self.known else None
        present = (events > 0) & (values != 0)
        by_u = Coefficients(values[present], events[present], (events * rates)[present])
        return GainSums(
            by_u, None if baselines is None else baselines[present], float((traffic * enough).sum()), variance
        )

    @property
    def _propensity(self) -> Floats:
        cells = self.cells
        mixed = (1 - self.share) * cells.propensity + self.share * cells.probability
        return np.where(cells.explored, mixed, cells.propensity)

    def _fewest(self, times: float) -> Floats:
        return np.maximum(np.ceil(self.tau * times * self.cells.events), 1.0)

    @property
    def _points(self) -> Points:
        """Return the events of one epoch, rewarded or not."""
        sums = self._of_an_epoch
        u, n, rewards, b = sums.by_u.values, sums.by_u.events, sums.by_u.rewards, sums.baselines
        positive, b = (u > 0).astype(float), np.zeros_like(u) if b is None else b
        expected = np.where(u > 0, b, 1 - b)
        earned, events = np.concatenate([positive, 1 - positive]), np.concatenate([rewards, n - rewards])
        return Points(np.tile(np.abs(u), 2), earned, np.tile(expected, 2), events, sums.variance)

    @property
    def _worst(self) -> Floats:
        return np.tile(np.maximum(-self._of_an_epoch.by_u.values, 0.0), 2)

    @property
    def _of_an_epoch(self) -> GainSums:
        number = self.cells.number / (self.epochs or 1.0)
        return replace(self, cells=replace(self.cells, number=number), epochs=None, visits=None).sums(1.0)

    def _units(self, sums: GainSums, times: float) -> tuple[TypicalUnits, Floats]:
        """Draw units whose visits are draws of the events to come, some of them the same for all visits of a unit.

        As many visits a unit as in this log, and as many more units as there are events. All units that come often are
        drawn: the heaviest ones hold bets back.
        """
        visits = self.visits
        assert visits is not None
        rng, u, n = np.random.default_rng(0), sums.by_u.values, sums.by_u.events
        units, of_unit = times * visits.units, visits.heaviest(times)
        all_visits = times * float((visits.units * visits.visits).sum())
        drawn = np.ceil(units * min(1.0, DRAWN / all_visits))
        drawn = np.maximum(drawn, np.minimum(np.ceil(units), FEWEST_DRAWN)).astype(np.int64)
        of_visits, weight = np.repeat(of_unit.astype(np.int64), drawn), np.repeat(units / drawn, drawn)
        unit = np.repeat(np.arange(len(of_visits)), of_visits)
        chances = np.cumsum(np.append(n, max(all_visits - float(n.sum()), 0.0)))
        draws, own = rng.random(len(unit)), rng.random(len(of_visits))[unit]
        draws = np.where(rng.random(len(unit)) < visits.kept, own, draws)
        places = np.searchsorted(chances, chances[-1] * draws, side="right")
        at = np.append(u, 0.0)[np.minimum(places, len(u))]
        size, net = (np.bincount(unit, part, minlength=len(weight)).astype(np.float64) for part in (np.abs(at), at))
        mean, independent = float(sums.by_u.rewards.sum() / n.sum()), float((u**2 * n).sum())
        together = float((weight * net**2).sum() / (weight * np.bincount(unit, at**2, minlength=len(weight))).sum())
        # Never quite independent: then bets are planned for two variances, however close.
        dependent = independent * max(visits.together, together, 1 + 1e-6)
        variances = sums.by_u.rewards * (1 - sums.by_u.rewards / n) * u**2
        variance = float(variances.sum()) * (1 + visits.icc * max(dependent / independent - 1, 0.0))
        size, net, units = _binned(size, net, weight)
        expected = size / 2 + net * (mean - 0.5)
        return TypicalUnits(size, expected, units, variance, independent, dependent, mean), net


def _binned(size: Floats, net: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return units by the sums of |u| and of u, in bins: the means of each, and how many."""
    size, net, weight = (part[size > 0].astype(np.float64) for part in (size, net, weight))
    bins = np.stack([np.floor(np.log(size) / math.log(RATIO)), np.floor(net / size * SLICES)], axis=1)
    _, place = np.unique(bins, axis=0, return_inverse=True)
    number = np.bincount(place.ravel(), weight).astype(np.float64)
    sizes, nets = (np.bincount(place.ravel(), weight * part) / number for part in (size, net))
    return sizes, nets, number


def _gain(sums: GainSums) -> float:
    return float((sums.by_u.values * sums.by_u.rewards).sum())


def _levels(expected: Floats) -> Floats:
    """Round expected rewards as bets do: to multiples of 1 / LEVELS, of two to the one farther from a half."""
    off = (expected - 0.5) * LEVELS
    rounded: Floats = 0.5 + np.sign(off) * np.floor(np.abs(off) + 0.5 + 1e-9) / LEVELS
    return rounded


def _counts(mean: Floats, fewest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P(k >= fewest), and E[k] and E[1 / k] over such k, of Poisson counts; ``fewest`` is 1 or more.

    >>> enough, shown, inverse = _counts(np.array([2.0, 1e4]), np.array([1.0, 1.0]))
    >>> enough.round(3).tolist(), shown.round(3).tolist(), (inverse * [2.0, 1e4]).round(3).tolist()
    ([0.865, 1.0], [2.0, 10000.0], [0.997, 1.0])
    """
    enough, shown, inverse = (np.zeros_like(mean) for _ in range(3))
    small = (mean > 0) & (mean <= MANY)
    k = np.arange(1.0, MOST + 1)
    logs = np.outer(np.log(mean[small]), k) - mean[small][:, None] - np.cumsum(np.log(k))
    chances = np.exp(logs) * (k >= fewest[small][:, None])
    enough[small], shown[small], inverse[small] = chances.sum(axis=1), chances @ k, chances @ (1 / k)
    large = mean > MANY
    above = (mean[large] - fewest[large] + 0.5) / np.sqrt(mean[large])
    enough[large] = [0.5 * math.erfc(-z / math.sqrt(2)) for z in above.tolist()]
    shown[large] = enough[large] * mean[large]
    inverse[large] = enough[large] * (1 + 1 / mean[large]) / mean[large]
    return enough, shown, inverse
