"""Betting confidence sequences over epochs, for loggers that learn while they log.

Given all earlier epochs, and the contexts and actions of its own, the rewards of an epoch are independent across
events (or units). One that could earn R at the most, is expected to earn the share e of it and earns the share g, wins

    log(1 + L * R * (g - e)) + L * R * e     if L * R * e is small, else     log(1 + L * R * g)

and the exponential of the sum over the epochs so far has expectation at most exp(L * Q), Q = sum of R * E[g]: what they
could expect to earn, each given what was before its epoch. Every L is fixed before the first epoch, e before the
rewards of its own. So the average over several L of exp(won - L * Q) exceeds 2 / delta at any end of an epoch with
probability at most delta / 2 (Ville), and every Q for which it does is ruled out from below: at all epoch ends at once,
however the logger reacted and whether or not mean rewards drift. The upper end is the lower end of 1 - g and 1 - e.

value  R = c, g = reward: Q is the sum of c * mean reward
gain   R = |u|, g = reward where u > 0 and 1 - reward where u < 0: Q is the gain and the sum of |u| over u < 0

Where nothing is known before the first epoch, what is won there is averaged over several expected rewards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.estimators.intervals.bets import chance_to_win, log_mean
from warmstart.estimators.intervals.bisection import last_ruled_out
from warmstart.estimators.intervals.gain_bets import UNKNOWN
from warmstart.estimators.intervals.unit_bets import MOST_AT_RISK, SMALLEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Ends

    Floats = NDArray[np.float64]

# Bets are planned to win this much, whatever the level, so that one sequence serves all levels.
PLANNED = math.log(40)
# Doublings of the bet that would be best if the log ended with the first epoch, and what they weigh: the best one falls
# with the square root of all that is to come, and 4 to 256 epochs are usual; a first epoch may also be tiny. Where
# nothing is known of rewards, the first epoch is taken for fair coins, and rare rewards allow for larger bets.
LAST = 20
DOUBLINGS = np.arange(1.0, -LAST - 1, -1.0)
WEIGHTS = np.array([1, 2, 4, 6, 6, 4, 2, 1, 1, 1] + [0.25] * (len(DOUBLINGS) - 10))
MANY_DOUBLINGS = np.arange(4.0, -LAST - 1, -1.0)
MANY_WEIGHTS = np.array([1, 2, 4, 4, 6, 6, 6, 4, 2, 1, 1, 1, 1] + [0.25] * (len(MANY_DOUBLINGS) - 13))
# One more bet, that the largest event of the first epoch can lose nearly all of: for rewards that are rare, or rarely
# fail to come.
BOLD, BOLD_WEIGHT = 0.9, 2.0
# How a first epoch's variance may differ from that of the average one, for what is planned before any is known.
FIRST_EPOCHS = (0.6, 1.0, 1.6)


@dataclass(frozen=True, eq=False)
class Points:
    """Events, or units, of one epoch: ``events[i]`` of them that could earn ``size``, and earned the share ``earned``.

    ``expected``: the share that was expected; where nothing was known, the part of ``size`` that has positive u (1 for
    a value), from which it follows for every mean reward. ``variance``: of what is earned if rewards are as expected,
    of fair coins if nothing is known, to plan bets with. ``offset``: what Q is counted from, 0 for a value.
    """

    size: Floats
    earned: Floats
    expected: Floats
    events: Floats
    variance: float
    offset: float = 0.0
    known: bool = True

    @property
    def flipped(self) -> Points:
        """Return the same events with 1 - reward in the place of every reward."""
        return replace(self, earned=1 - self.earned, expected=1 - self.expected if self.known else self.expected)

    @property
    def present(self) -> Points:
        """Return the same without points that nothing is at."""
        some = (self.events > 0) & (self.size > 0)
        size, earned, expected, events = self.size[some], self.earned[some], self.expected[some], self.events[some]
        return replace(self, size=size, earned=earned, expected=expected, events=events)

    @property
    def total(self) -> float:
        """Return what all could earn."""
        return float((self.size * self.events).sum())

    @property
    def won(self) -> float:
        """Return what all earned."""
        return float((self.size * self.earned * self.events).sum())

    def logs(self, bets: Floats) -> Floats:
        """Return what every bet wins: the logarithm, relative to exp(bet * Q)."""
        if self.known:
            return self._logs(bets, self.expected)
        chances = [self._logs(bets, b * self.expected + (1 - b) * (1 - self.expected)) for b in UNKNOWN]
        return np.array([log_mean(won, np.full(len(UNKNOWN), 1 / len(UNKNOWN))) for won in np.stack(chances, axis=1)])

    def _logs(self, bets: Floats, expected: Floats) -> Floats:
        return self._each(bets, expected) @ self.events

    def _each(self, bets: Floats, expected: Floats) -> Floats:
        risk, won = (np.outer(bets, self.size * share) for share in (expected, self.earned))
        risk[risk > MOST_AT_RISK] = 0.0
        # Of what is at risk nothing is lost for good: it comes back in the second term.
        each: Floats = np.log(np.maximum(1 + won - risk, SMALLEST)) + risk
        return each

    def chance(self, worst: Floats, epochs: float, delta: float) -> float:
        """Return the chance (power) that a gain is proven after so many epochs, ``events`` being those expected of one.

        The second half of the points are the same events as the first, rewarded in one and not in the other.

        Args:
            worst: What each event counts at the least: ``size`` where u is below 0, else 0.
            epochs: How many epochs like this one.
            delta: The share of intervals that may miss.
        """
        if self.variance <= 0:
            return 0.0
        # Bets are planned by a first epoch that is none like the average: doublings hit the best bet more or less.
        others = [replace(self, variance=factor * self.variance) for factor in FIRST_EPOCHS]
        return sum(one._chance(worst, epochs, delta) for one in others) / len(others)

    def _chance(self, worst: Floats, epochs: float, delta: float) -> float:
        wealth = Wealth.start().after(self)
        each = self._each(wealth.bets, self.expected) - np.outer(wealth.bets, worst)
        (first, second), (n, others) = np.split(each, 2, axis=1), np.split(self.events, 2)
        means, variances = each @ self.events, (first - second) ** 2 @ (n * others / np.maximum(n + others, SMALLEST))
        return chance_to_win(epochs * means, np.sqrt(epochs * variances), wealth.weights, math.log(2 / delta))


@dataclass(frozen=True, eq=False)
class Wealth:
    """What bets on the same side have won so far: a state that goes on from epoch to epoch.

    ``bets``: empty until the first epoch in which anything could be earned; ``logs``: what each has won.
    """

    bets: Floats
    weights: Floats
    logs: Floats

    @classmethod
    def start(cls) -> Self:
        """Return the state before the first epoch."""
        nothing = np.zeros(0)
        return cls(nothing, nothing, nothing)

    def after(self, points: Points) -> Wealth:
        """Return the state after one more epoch."""
        if len(self.bets):
            return replace(self, logs=self.logs + points.logs(self.bets))
        return self if points.variance <= 0 else self._planned(points)

    def _planned(self, points: Points) -> Wealth:
        """Plan bets by the first epoch's contexts and actions, and what was known before it."""
        doublings, weights = (DOUBLINGS, WEIGHTS) if points.known else (MANY_DOUBLINGS, MANY_WEIGHTS)
        bets = math.sqrt(2 * PLANNED / points.variance) * 2.0**doublings
        bets, weights = np.append(bets, BOLD / points.size.max()), np.append(weights, BOLD_WEIGHT)
        return Wealth(bets, weights / weights.sum(), points.logs(bets))

    def to_dict(self) -> dict[str, list[float]]:
        """Return the state as plain numbers, to go on from another day."""
        return {"bets": self.bets.tolist(), "weights": self.weights.tolist(), "logs": self.logs.tolist()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Sequence[float]]) -> Self:
        """Read what ``to_dict`` wrote; refuse numbers that no bets could have."""
        bets, weights, logs = (np.array(state[name], dtype=np.float64) for name in ("bets", "weights", "logs"))
        alike = bets.shape == weights.shape == logs.shape and bets.ndim == 1
        if not (alike and np.isfinite(logs).all() and (bets > 0).all() and (weights >= 0).all()):
            raise ValueError("these are no bets")
        if len(bets) and abs(weights.sum() - 1) > 1e-9:
            raise ValueError("the weights of bets do not sum to 1")
        return cls(bets, weights, logs)

    def ruled_out(self, most: float, limit: float) -> float:
        """Return the largest Q, from 0 to ``most``, that is ruled out; 0 if none is."""
        if not len(self.bets):
            return 0.0
        return last_ruled_out(lambda q: log_mean(self.logs - self.bets * q, self.weights) >= limit, 0.0, most)


@dataclass(frozen=True, eq=False)
class Standing:
    """How bets from below and from above stand at the end of an epoch: all that the next epoch needs to go on from.

    ``most``: what could have been earned so far; ``earned``: what was, less the offset; ``offset``: what Q is counted
    from.
    """

    below: Wealth
    above: Wealth
    most: float = 0.0
    earned: float = 0.0
    offset: float = 0.0

    @classmethod
    def start(cls) -> Self:
        """Return the standing before the first epoch."""
        return cls(Wealth.start(), Wealth.start())

    def after(self, points: Points) -> Standing:
        """Return the standing after one more epoch."""
        most, offset = self.most + points.total, self.offset + points.offset
        earned = self.earned + points.won - points.offset
        return Standing(self.below.after(points), self.above.after(points.flipped), most, earned, offset)

    def to_dict(self) -> dict[str, Any]:
        """Return the standing as plain numbers, to go on from another day."""
        numbers = {"most": self.most, "earned": self.earned, "offset": self.offset}
        return {"below": self.below.to_dict(), "above": self.above.to_dict(), **numbers}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote."""
        numbers = [float(state[name]) for name in ("most", "earned", "offset")]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a number is not finite")
        return cls(Wealth.from_dict(state["below"]), Wealth.from_dict(state["above"]), *numbers)

    def ends(self, delta: float) -> Ends:
        """Return the ends of Q, less the offset; each fails at the end of any epoch with chance at most delta / 2."""
        limit = math.log(2 / delta)
        lower, upper = self.below.ruled_out(self.most, limit), self.above.ruled_out(self.most, limit)
        return lower - self.offset, self.most - upper - self.offset


@dataclass(frozen=True, eq=False)
class EpochTotals:
    """The epochs of a log in order, and how bets stood before the first of them."""

    epochs: Sequence[Points]
    before: Standing

    @classmethod
    def of(cls, epochs: Iterable[Points], before: Standing | None = None) -> Self:
        """Return the epochs of a log that begins with them, or goes on from how bets stood before."""
        return cls(tuple(epochs), Standing.start() if before is None else before)

    @cached_property
    def standings(self) -> list[Standing]:
        """Return how bets stand after every epoch."""
        return list(accumulate(self.epochs, Standing.after, initial=self.before))[1:]

    def earned(self, epoch: int = -1) -> float:
        """Return what was earned up to the end of an epoch, less the offset."""
        return self.standings[epoch].earned

    def ends(self, delta: float, epoch: int = -1) -> Ends:
        """Return the ends of Q, less the offset, at the end of an epoch, the last one by default."""
        return self.standings[epoch].ends(delta)
