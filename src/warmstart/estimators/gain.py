"""The gain (lift) over logging: certified by constant bets on supported traffic, or estimated on decided traffic.

    D = sum over events of u * reward / T_B,   u = probability / propensity - s(x),   T_B = sum over events of s(x)

s(x) is the policy's supported share in a context. If D were m, the product over events of 1 + L * (u * reward - s * m)
would have expectation at most 1 (see intervals.bets). What depends on s inside a product is replaced by less, using
that logarithms are concave, so that rewards by u are all that is needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis
import numpy as np

from warmstart.core import ACTION, PROBABILITY
from warmstart.estimators.intervals import MOST_AT_RISK, RATIO, Coefficients, last_ruled_out, log_mean
from warmstart.estimators.weights import is_supported, supported_ratio
from warmstart.results import CertifiedGain

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import Row

# With a reward rate from training, three bets; without one, a ladder of rates.
KNOWN, KNOWN_WEIGHTS = (0.25, 1.0, 4.0), (0.25, 0.5, 0.25)
UNKNOWN = tuple(4.0**-k for k in range(7))
# u is at least -1 and the gain at most 1, so no bet of less than a half can lose everything.
SAFE = 0.495
# Stands for u = -1, whose logarithm is none.
NOTHING_LEFT = -(1 << 40)


def sums(rows: ir.Table, tau: float) -> dict[str, ir.Value]:
    """Sum the rewards of policy and logging on supported traffic, u^2 (about), and the largest u + s(x)."""
    supported, ratio, h = is_supported(rows, tau), supported_ratio(rows, tau), rows[PROBABILITY]
    return {
        "policy_on_supported": (ratio * rows.reward_sum).sum(),
        "logging_on_supported": supported.ifelse(h * rows.context_reward_sum, 0.0).sum(),
        "largest_ratio": ratio.max(),
        "spread": (ratio * ratio * rows.n).sum() - supported.ifelse(rows.context_n * h * h, 0.0).sum(),
    }


def certified_gain(totals: Mapping[str, float], gains: GainSums | None, events: float, levels: Levels) -> CertifiedGain:
    """Return D and its finite-sample interval; logging itself (no ``gains``) gains nothing over logging, for certain.

    Args:
        totals: The sums over the weighted table.
        gains: Rewards by u, None for the logging policy.
        events: T, all events of the window.
        levels: The confidence levels, and the reward rate that bets are planned with.
    """
    traffic = totals["supported"]
    share, contested = traffic / events, totals["contested"] / events
    if traffic <= 0:
        return CertifiedGain(share, contested, None, None, None, None, None, "finite-sample")
    value, logging = totals["policy_on_supported"] / traffic, totals["logging_on_supported"] / traffic
    difference = value - logging
    ends, joint = (
        (0.0, 0.0) if gains is None else gain_ends(gains, level, levels.rate) for level in (levels.delta, levels.joint)
    )
    lower, upper, joint_lower = min(ends[0], difference), max(ends[1], difference), min(joint[0], difference)
    gain, lower, upper, joint_lower = (share * end for end in (difference, lower, upper, joint_lower))
    return CertifiedGain(share, contested, value, logging, gain, lower, upper, "finite-sample", joint_lower)


@dataclass(frozen=True)
class Levels:
    """``delta``: the share of intervals that may miss; ``looks``: how many estimates share it in joint ends.

    ``rate``: the mean reward that was known before the window, if any.
    """

    delta: float
    looks: int = 1
    rate: float | None = None

    @property
    def joint(self) -> float:
        """Return delta for each of all looks (Bonferroni)."""
        return self.delta / self.looks


@dataclass(frozen=True, eq=False)
class GainSums:
    """Rewards by u + 1, the traffic T_B, what of it saw no reward, and what bets are planned with.

    ``spread``: about the mean of u^2 over that traffic; ``largest``: what u does not exceed.
    """

    by_u: Coefficients
    traffic: float
    nothing: float
    spread: float
    largest: float

    @classmethod
    def of_rows(cls, rows: Sequence[Row], totals: Mapping[str, float]) -> GainSums:
        """Read the rows of ``rewards_by_u``, beside the sums over the weighted table."""
        bins = np.array([row["bin"] for row in rows], dtype=np.int64)
        rewards = np.array([row["rewards"] for row in rows], dtype=np.float64)
        by_u = Coefficients.of_bins(np.maximum(bins, -(1 << 16)), np.maximum(rewards, 0.0))
        traffic = totals["supported"]
        nothing = max(traffic - sum(row["shared"] for row in rows), 0.0)
        spread = max(totals["spread"] / traffic, 0.0) if traffic > 0 else 0.0
        return cls(by_u, traffic, nothing, spread, totals["largest_ratio"])


def rewards_by_u(rows: ir.Table, groups: Sequence[str], tau: float) -> ir.Table:
    """Sum rewards by the logarithm of u + 1, where anything was earned and more than one action was shown.

    Elsewhere u is 0, or rewards are. ``shared`` is the sum of s(x) * rewards.

    Args:
        rows: The weighted table.
        groups: The columns by which its contexts are divided: context and further keys.
        tau: The floor of the propensity.
    """
    contested = rows.filter(rows.context_reward_sum > 0, rows.context_actions > 1)
    chosen = is_supported(contested, tau) & (contested[PROBABILITY] > 0)
    contested = contested.mutate(
        supported=chosen.ifelse(contested[PROBABILITY], 0.0),
        ratio=supported_ratio(contested, tau),
        rewards=chosen.ifelse(contested.reward_sum, 0.0),
    )
    whole = ibis.window(group_by=list(groups))
    contested = contested.mutate(
        share=contested.supported.sum().over(whole),
        rest=contested.context_reward_sum - contested.rewards.sum().over(whole),
        place=ibis.row_number().over(ibis.window(group_by=list(groups), order_by=ACTION)),
    )
    contested = contested.filter(contested.share > 0)
    picked, once = contested.filter(contested.ratio > 0), contested.filter(contested.place == 0)
    parts = ibis.union(
        picked.select("share", "rewards", above=picked.ratio + 1.0 - picked.share),
        once.select("share", rewards="rest", above=1.0 - once.share),
        distinct=False,
    )
    parts = parts.filter(parts.rewards > 0)
    small = parts.above < 1e-12
    bin_ = (small.ifelse(1.0, parts.above).ln() / math.log(RATIO)).floor().cast("int64")
    return (
        parts.group_by(bin=small.ifelse(ibis.literal(NOTHING_LEFT), bin_))
        .agg(rewards=parts.rewards.sum(), shared=(parts.share * parts.rewards).sum())
        .order_by("bin")
    )


def gain_ends(sums: GainSums, delta: float, rate: float | None) -> tuple[float, float]:
    """Return the ends of the gain; each fails with probability at most delta / 2."""
    limit = math.log(2 / delta)
    low, high, rewards = sums.by_u.low - 1.0, sums.by_u.high - 1.0, sums.by_u.rewards
    if sums.traffic <= 0 or sums.spread <= 0:
        return 0.0, 0.0
    bets, weights = _planned(sums, limit, rate)
    up, down = np.minimum(bets, SAFE), np.minimum(bets, MOST_AT_RISK / (RATIO * sums.largest + 1))

    def against_less(m: float) -> float:
        logs = np.log1p(up[:, None] * (low - max(m, 0.0))) @ rewards + sums.nothing * np.log1p(-up * m)
        return log_mean(logs, weights)

    def against_more(m: float) -> float:
        logs = np.log1p(-down[:, None] * (high - min(m, 0.0))) @ rewards + sums.nothing * np.log1p(down * m)
        return log_mean(logs, weights)

    lower = last_ruled_out(lambda m: against_less(m) >= limit, -1.0, 1.0)
    upper = last_ruled_out(lambda m: against_more(m) >= limit, 1.0, -1.0)
    return lower, upper


def _planned(sums: GainSums, limit: float, rate: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bet what is best at the distance that would just be proven, if rewards came at a certain rate."""
    rates = UNKNOWN if rate is None else tuple(rate * factor for factor in KNOWN)
    weights = np.full(len(rates), 1 / len(rates)) if rate is None else np.array(KNOWN_WEIGHTS)
    return np.sqrt(2 * limit / (sums.traffic * np.array(rates) * sums.spread)), weights
