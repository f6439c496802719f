"""Betting confidence interval of the gain over logging, with constant bets.

    D = sum over events of u * reward / T_B,   u = probability / propensity - s(x),   T_B = sum over events of s(x)

s(x) is the policy's supported share in a context. In every context the u of its events sum to 0, so that reward - b may
stand for the reward, with any b that was fixed before the window; near the context's mean reward it takes away most of
the variance. If D were m, the product over the N events that could tell of

    1 + L * (u * (reward - b) - m * T_B / N)

would have expectation at most 1 (see bets), so that every m for which it exceeds 2 / delta is ruled out from below. N
counts the events of contested contexts; m may be spread over them evenly, whatever s(x) is. The upper end is the lower
end of the rewards 1 - r, negated: the interval does not depend on where a reward has its origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators.intervals.bets import MOST_AT_RISK, log_mean
from warmstart.estimators.intervals.bisection import last_ruled_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Coefficients, Ends

    Floats = NDArray[np.float64]

# With expected rewards from training, these multiples of the planned bet.
FACTORS, WEIGHTS = np.array([0.5, 1.0, 2.0]), np.array([0.15, 0.7, 0.15])
# Without, a bet for each of these mean rewards, on both sides of a half.
BELOW_HALF = (0.001, 0.005, 0.025, 0.1, 0.25)
UNKNOWN = np.array([*BELOW_HALF, 0.5, *(1 - rate for rate in BELOW_HALF)])


@dataclass(frozen=True, eq=False)
class GainSums:
    """Events and rewards by u, the b of each, the traffic T_B, and what bets are planned with.

    ``baselines`` (b) is None if nothing was known before the window: then bets on several are averaged. ``variance``:
    sum over events of u^2 * e * (1 - e), e the reward that was expected before the window; of u^2 if none was.
    """

    by_u: Coefficients
    baselines: Floats | None
    traffic: float
    variance: float

    @property
    def flipped(self) -> GainSums:
        """Return the same events with 1 - reward in the place of every reward."""
        baselines = None if self.baselines is None else 1 - self.baselines
        return GainSums(self.by_u.flipped, baselines, self.traffic, self.variance)

    @property
    def most(self) -> float:
        """Return what the gain could be at the most, if every reward were 1 or 0 as suits it."""
        return float((np.maximum(self.by_u.values, 0.0) * self.by_u.events).sum()) / self.traffic


def gain_ends(sums: GainSums, delta: float) -> Ends:
    """Return the ends of the gain; each fails with probability at most delta / 2."""
    if sums.traffic <= 0:
        return 0.0, 0.0
    if sums.variance <= 0:
        return -sums.most, sums.most
    limit = math.log(2 / delta)
    return _lower(sums, limit), -_lower(sums.flipped, limit)


def _lower(sums: GainSums, limit: float) -> float:
    present = sums.by_u.events > 0
    u, n, s = (part[present] for part in (sums.by_u.values, sums.by_u.events, sums.by_u.rewards))
    if sums.baselines is None:
        baselines, weights = UNKNOWN[:, None], np.full(len(UNKNOWN), 1 / len(UNKNOWN))
        planned = np.sqrt(2 * limit / (sums.variance * UNKNOWN * (1 - UNKNOWN)))
    else:
        baselines, weights = sums.baselines[present][None, :], WEIGHTS
        planned = FACTORS * math.sqrt(2 * limit / sums.variance)
    rewarded, others, per_event = u * (1 - baselines), -u * baselines, sums.traffic / n.sum()
    # No factor may fall to 0 at any m that is possible.
    risk = -np.minimum(rewarded, others).min(axis=1) + per_event * sums.most
    bets = np.minimum(planned, MOST_AT_RISK / risk)[:, None]

    def evidence(m: float) -> float:
        lost = per_event * m
        return log_mean(np.log1p(bets * (rewarded - lost)) @ s + np.log1p(bets * (others - lost)) @ (n - s), weights)

    return last_ruled_out(lambda m: evidence(m) >= limit, -sums.most, sums.most)
