"""Betting confidence interval of the gain relative to logging's mean, with one bet on both together.

The policy where it is supported, logging elsewhere, changes logging's mean by more than a share k of it exactly if

    sum over events of (u - k) * mean reward > k * a * T

u as in gain_bets, 0 where the two cannot differ; a the distance of a reward of 0 from the user's own zero. With any b
that was fixed before the window, the product over all T events of

    1 + L * ((u - k) * (reward - b) - k * (B + a)),   B the mean of b over events,

has expectation at most 1 if the share is k or less (see bets): a product of more than 2 / delta rules such a k out from
below, and with -L from above. What logging's mean has in common with the gain cancels inside each factor, which
intervals of the two could not use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators.intervals.bets import MOST_AT_RISK, log_mean
from warmstart.estimators.intervals.bisection import last_ruled_out
from warmstart.estimators.intervals.gain_bets import FACTORS, UNKNOWN, WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.estimators.intervals.gain_bets import Floats, GainSums
    from warmstart.estimators.intervals.terms import Ends

# How far from the estimate shares are tested, from far to near, before bisection. So closely, because with expected
# rewards far from the truth, shares beyond some that are ruled out may stand.
DISTANCES = 2.0 ** np.arange(12, -15, -0.5)


@dataclass(frozen=True)
class LoggingTotals:
    """All events of the window (T), their rewards, and the distance a of a reward of 0 from the user's own zero.

    ``rate``: the mean reward that was expected before the window, if any was.
    """

    events: float
    rewards: float
    origin: float
    rate: float | None


def relative_ends(sums: GainSums, logging: LoggingTotals, delta: float, limits: Sequence[float]) -> Ends | None:
    """Return the ends of the gain as a share of logging's mean; None if that mean was 0.

    Each end fails with probability at most delta / 2; the upper one is infinite if nothing is ruled out. ``limits`` are
    shares that were fixed beforehand: each is strictly between the ends unless a test of its own rules it out.
    """
    mean = logging.rewards + logging.origin * logging.events
    if mean <= 0:
        return None
    if sums.most <= 0:
        return 0.0, 0.0
    estimate = float((sums.by_u.values * sums.by_u.rewards).sum()) / mean
    lower, upper = (_end(_Test(sums, logging, side, math.log(2 / delta)), estimate, limits) for side in (1, -1))
    return lower, upper


def _end(test: _Test, estimate: float, limits: Sequence[float]) -> float:
    """Return the lower end (side 1) or the upper one (side -1)."""
    tested = [estimate - test.side * float(distance) for distance in DISTANCES] + [estimate]
    if test.side > 0:
        # Nothing is below zero, so that no more than all can be lost.
        tested = [-1.0, *(share for share in tested if share > -1)]
    let_stand = next((i for i, share in enumerate(tested) if not test(share)), len(tested) - 1)
    if let_stand == 0:
        end = -1.0 if test.side > 0 else math.inf
    else:
        end = last_ruled_out(test, tested[let_stand - 1], tested[let_stand])
    # An end at a limit would prove it kept: one that stands is inside.
    standing = [limit for limit in limits if test.side * (limit - end) <= 0 and not test(limit)]
    if test.side > 0:
        return min([end, *(math.nextafter(limit, -math.inf) for limit in standing if limit > -1)])
    return max([end, *(math.nextafter(limit, math.inf) for limit in standing)])


class _Test:
    """Tells whether a share of logging's mean is ruled out, from below (side 1) or above (side -1)."""

    def __init__(self, sums: GainSums, logging: LoggingTotals, side: int, limit: float) -> None:
        by_u, present = sums.by_u, sums.by_u.events > 0
        n, s = by_u.events[present], by_u.rewards[present]
        # One bin more: the events where policy and logging cannot differ.
        rest = max(logging.events - n.sum(), 0.0)
        rest_rewards = min(max(logging.rewards - s.sum(), 0.0), rest)
        self.side, self.limit, self.events, self.origin = side, limit, logging.events, logging.origin
        self.u = np.append(by_u.values[present], 0.0)
        self.n, self.s = np.append(n, rest), np.append(s, rest_rewards)
        self.variance = sums.variance
        if sums.baselines is None or logging.rate is None:
            self.weights = np.full(len(UNKNOWN), 1 / len(UNKNOWN))
            self.b: Floats = np.repeat(UNKNOWN[:, None], len(self.u), axis=1)
        else:
            self.weights = WEIGHTS
            self.b = np.append(sums.baselines[present], logging.rate)[None, :]
        self.rate = None if sums.baselines is None else logging.rate

    def __call__(self, share: float) -> bool:
        v = self.u - share
        drift = share * ((self.b @ self.n)[:, None] / self.events + self.origin)
        rewarded, others = (self.side * (part - drift) for part in (v * (1 - self.b), -v * self.b))
        # No factor may fall to 0.
        risk = np.maximum(-np.minimum(rewarded, others).min(axis=1), 1e-300)
        bets = np.minimum(self._planned(share), MOST_AT_RISK / risk)[:, None]
        logs = np.log1p(bets * rewarded) @ self.s + np.log1p(bets * others) @ (self.n - self.s)
        return log_mean(logs, self.weights) >= self.limit

    def _planned(self, share: float) -> Floats:
        """Return the bets that are best if rewards vary as was expected; from coefficients alone."""
        squares = share * share * self.events
        if self.rate is None:
            planned: Floats = np.sqrt(2 * self.limit / ((self.variance + squares) * UNKNOWN * (1 - UNKNOWN)))
            return planned
        return FACTORS * math.sqrt(2 * self.limit / (self.variance + squares * self.rate * (1 - self.rate)))
