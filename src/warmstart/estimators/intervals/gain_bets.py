"""Betting confidence interval of the gain over logging, with constant bets.

    D = sum over events of u * reward / T_B,   u = probability / propensity - s(x),   T_B = sum over events of s(x)

s(x) is the policy's supported share in a context. In every context the u of its events sum to 0, so that reward - b may
stand for the reward, with any b that was fixed before the window; near the context's mean reward it takes away most of
the variance. If D were m, the product over the N events that could tell of

    1 + L * (u * (reward - b) - m * T_B / N)

would have expectation at most 1 (see bets), so that every m for which it exceeds 2 / delta is ruled out from below. N
counts the events of contested contexts; m may be spread over them evenly, whatever s(x) is. The upper end is the lower
end of the rewards 1 - r, negated: the interval does not depend on where a reward has its origin.

Under doubt (see doubt) the u do not sum to 0, and part of the gain is certain, whatever the rewards are. Then m * T_B
less that part and less the sum of u * b takes the place of m * T_B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warmstart.estimators.intervals.bets import MOST_AT_RISK, chance_to_win, log_mean
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
# A gain that is larger than possible by no more than this is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class GainSums:
    """Events and rewards by u, the b of each, the traffic T_B, and what bets are planned with.

    ``baselines`` (b) is None if nothing was known before the window: then bets on several, the ``rates``, are averaged.
    ``variance``: sum over events of u^2 * e * (1 - e), e the reward that was expected before the window; of u^2 if none
    was. ``certain``: the part of the gain, in rewards, that does not depend on any. ``sign``: only whether the gain is
    above zero is asked, so that all is put on the one bet that is planned for it.
    """

    by_u: Coefficients
    baselines: Floats | None
    traffic: float
    variance: float
    certain: float = 0.0
    rates: Floats | None = None
    sign: bool = False

    @property
    def flipped(self) -> GainSums:
        """Return the same events with 1 - reward in the place of every reward."""
        baselines = None if self.baselines is None else 1 - self.baselines
        return replace(self, by_u=self.by_u.flipped, baselines=baselines)

    @property
    def most(self) -> float:
        """Return what the gain could be at the most, if every reward were 1 or 0 as suits it."""
        return float((np.maximum(self.by_u.values, 0.0) * self.by_u.events).sum() + self.certain) / self.traffic

    @property
    def least(self) -> float:
        """Return what the gain could be at the least."""
        return float((np.minimum(self.by_u.values, 0.0) * self.by_u.events).sum() + self.certain) / self.traffic


def gain_ends(sums: GainSums, delta: float) -> Ends:
    """Return the ends of the gain; each fails with probability at most delta / 2."""
    if sums.traffic <= 0:
        return 0.0, 0.0
    if sums.variance <= 0:
        return -sums.most, sums.most
    limit = math.log(2 / delta)
    return lower_gain([sums], limit), -lower_gain([sums.flipped], limit)


def gain_chance(sums: GainSums, delta: float) -> float:
    """Return the chance (power) that the lower end is above 0, if ``rewards`` are those that are expected of events."""
    limit = math.log(2 / delta)
    if sums.traffic <= 0 or sums.variance <= 0:
        return 0.0
    bets = _Bets.of(sums, limit)
    rewarded, others = bets.won(0.0)
    means = rewarded @ bets.s + others @ (bets.n - bets.s)
    variances = (rewarded - others) ** 2 @ (bets.s * (1 - bets.s / bets.n))
    return chance_to_win(means, np.sqrt(variances), bets.weights, limit)


def lower_gain(parts: Sequence[GainSums], limit: float) -> float:
    """Return the first gain that is not ruled out by bets on the same events, averaged over several ways to sum them.

    Args:
        parts: Events by u; several that each have some of the rates, where nothing was known before the window.
        limit: The logarithm of what the bets must win: ln(2 / delta).
    """
    evidence = gain_evidence(parts, limit)
    start, end = min(part.least for part in parts), max(part.most for part in parts)
    return last_ruled_out(lambda m: evidence(m) >= limit, start, end)


def proves_gain(sums: GainSums, delta: float) -> bool:
    """Tell whether the gain is above zero, but with probability delta (one-sided)."""
    limit = math.log(1 / delta)
    return sums.traffic > 0 and sums.variance > 0 and gain_evidence([sums], limit)(0.0) >= limit


def gain_evidence(parts: Sequence[GainSums], limit: float) -> Callable[[float], float]:
    """Return the logarithm of what bets win if the gain is m or less, as a function of m; it falls as m grows."""
    planned = [_Bets.of(part, limit) for part in parts]
    weights = np.concatenate([bets.weights for bets in planned])

    def evidence(m: float) -> float:
        logs = np.concatenate([bets.logs(m) for bets in planned])
        return log_mean(logs, weights) if np.isfinite(logs).any() else -math.inf

    return evidence


class _Bets(NamedTuple):
    """Bets on the events that are present: what each adds if it is rewarded, u * (1 - b), or not, -u * b.

    ``expected``: the sum of u * b for every bet; ``highest``: the largest possible sum of u * reward.
    """

    sums: GainSums
    n: Floats
    s: Floats
    rewarded: Floats
    others: Floats
    sizes: Floats
    weights: Floats
    expected: Floats
    highest: float

    @classmethod
    def of(cls, sums: GainSums, limit: float) -> _Bets:
        """Plan bets from u and what was known before the window."""
        present = sums.by_u.events > 0
        u, n, s = (part[present] for part in (sums.by_u.values, sums.by_u.events, sums.by_u.rewards))
        if sums.baselines is None:
            rates = UNKNOWN if sums.rates is None else sums.rates
            baselines, weights = rates[:, None], np.full(len(rates), 1 / len(UNKNOWN))
            planned = np.sqrt(2 * limit / (sums.variance * rates * (1 - rates)))
        else:
            baselines = sums.baselines[present][None, :]
            factors, weights = (np.ones(1), np.ones(1)) if sums.sign else (FACTORS, WEIGHTS)
            planned = factors * math.sqrt(2 * limit / sums.variance)
        rewarded, others = u * (1 - baselines), -u * baselines
        expected, highest = (baselines * u * n).sum(axis=1), sums.most * sums.traffic - sums.certain
        # No factor may fall to 0 at any m that is possible.
        risk = -np.minimum(rewarded, others).min(axis=1) + (highest - expected) / n.sum()
        sizes = np.minimum(planned, MOST_AT_RISK / risk)[:, None]
        return cls(sums, n, s, rewarded, others, sizes, weights, expected, highest)

    def won(self, m: float) -> tuple[Floats, Floats]:
        """Return the logarithms of the factors of events, rewarded and not, if the gain were m."""
        gained = min(m * self.sums.traffic - self.sums.certain, self.highest)
        lost = ((gained - self.expected) / self.n.sum())[:, None]
        return np.log1p(self.sizes * (self.rewarded - lost)), np.log1p(self.sizes * (self.others - lost))

    def logs(self, m: float) -> Floats:
        """Return the logarithms of the products; no bet wins against more than could be gained."""
        if m * self.sums.traffic - self.sums.certain > self.highest + ROUNDING * self.sums.traffic:
            return np.full(len(self.sizes), -np.inf)
        rewarded, others = self.won(m)
        products: Floats = rewarded @ self.s + others @ (self.n - self.s)
        return products
