"""The gain over logging on supported traffic, bounded by constant bets.

    D = sum over events of u * reward / T_B,   u = probability / propensity - s(x),   T_B = sum over events of s(x)

s(x) is the policy's supported share in a context. If D were m, the product over events of 1 + L * (u * reward - s * m)
would have expectation at most 1 (see bets). What depends on s inside a product is replaced by less, using that
logarithms are concave, so that rewards by u are all that is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis
import numpy as np

from warmstart.core.names import ACTION
from warmstart.estimators.intervals.bets import MOST_AT_RISK, RATIO, Coefficients, last_ruled_out, log_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine.engine import Row
    from warmstart.events import Cells

# With a reward rate from training, three bets; without one, a ladder of rates.
KNOWN, KNOWN_WEIGHTS = (0.25, 1.0, 4.0), (0.25, 0.5, 0.25)
UNKNOWN = tuple(4.0**-k for k in range(7))
# u is at least -1 and the gain at most 1, so no bet of less than a half can lose everything.
SAFE = 0.495
# Stands for u = -1, whose logarithm is none.
NOTHING_LEFT = -(1 << 40)


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
    def of_rows(cls, rows: Sequence[Row], *, traffic: float, spread: float, largest: float) -> GainSums:
        """Read the rows of ``rewards_by_u``."""
        bins = np.array([row["bin"] for row in rows], dtype=np.int64)
        rewards = np.array([row["rewards"] for row in rows], dtype=np.float64)
        found = Coefficients.of_bins(np.maximum(bins, -(1 << 16)), np.maximum(rewards, 0.0))
        nothing = max(traffic - sum(row["shared"] for row in rows), 0.0)
        return cls(found, traffic, nothing, spread, largest)


def rewards_by_u(rows: ir.Table, cells: Cells, chosen: Callable[[ir.Table], ir.BooleanValue]) -> ir.Table:
    """Sum rewards by the logarithm of u + 1, where anything was earned and more than one action was shown.

    Elsewhere u is 0, or rewards are. ``chosen`` tells which rows are chosen and supported; ``shared`` is the sum of
    s(x) * rewards.
    """
    contexts = list(cells.columns.context_keys)
    contested = rows.filter(rows.context_reward_sum > 0, rows.context_actions > 1)
    contested = contested.mutate(
        kept=chosen(contested).ifelse(contested.h, 0.0),
        ratio=chosen(contested).ifelse(contested.h / contested.own.nullif(0.0), 0.0),
        rewards=chosen(contested).ifelse(contested.reward_sum, 0.0),
    )
    whole = ibis.window(group_by=contexts)
    contested = contested.mutate(
        share=contested.kept.sum().over(whole),
        rest=contested.context_reward_sum - contested.rewards.sum().over(whole),
        place=ibis.row_number().over(ibis.window(group_by=contexts, order_by=ACTION)),
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
