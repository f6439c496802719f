"""Rewards by day, counted back from the last event: late rewards, and outcomes in a ratio that is too round.

The last 24 hours are compared with the whole days before them. Day-to-day changes of any origin (weekdays, other
contexts, a logging policy that changes) are in the variance between days, so that chance alone and these together make
the check ring in at most about one log of a hundred:

    t = (mean reward of the last 24 hours - mean over days of the others) / sqrt(max(S^2, v / n_last) * (1 + 1 / days))

with S^2 the variance of daily means and v that of rewards; t has days - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, mean, variance
from typing import TYPE_CHECKING

from warmstart.core import MICROSECONDS_PER_DAY, REWARD, TIME
from warmstart.results import LEVEL

if TYPE_CHECKING:
    from warmstart.events import Events

# Every weekday is among the others.
LEAST_DAYS = 7
# An exact ratio up to this one, in a log so large that chance makes it in at most one of 250: the chance of any exact
# number of rewards is at most 1 / sqrt(2 pi n p (1 - p)).
MOST_ROUND, ENOUGH = 20, 10_000


@dataclass(frozen=True)
class RewardDay:
    """Events, sum of rewards and of their squares in 24 hours; ``age``: how many days before the last event's."""

    age: int
    n: float
    s: float
    q: float


@dataclass(frozen=True)
class LateRewards:
    """``ratio``: the mean reward of the last 24 hours over that of the days before; ``rings``: it is too low."""

    days: int
    ratio: float
    t: float
    rings: bool


def reward_days(events: Events) -> list[RewardDay]:
    """Return rewards by 24 hours, counted back from the window's last event, the youngest first.

    All events are in one where there are no times.
    """
    table, last = events.table, events.window.last
    reward = table[REWARD]
    sums = {"n": reward.count().cast("float64"), "s": reward.sum(), "q": (reward * reward).sum()}
    if events.columns.time is None or last is None:
        rows = events.engine.fetch(table.agg(**sums))
        return [RewardDay(0, *(float(value or 0.0) for value in row.values())) for row in rows]
    age = ((last - table[TIME]) // MICROSECONDS_PER_DAY).cast("int64")
    result = events.engine.fetch(table.group_by(age=age).agg(**sums))
    days = [RewardDay(int(row["age"]), *(float(row[name] or 0.0) for name in sums)) for row in result]
    return sorted(days, key=lambda day: day.age)


def late_rewards(days: Sequence[RewardDay]) -> LateRewards | None:
    """Compare the mean reward of the youngest day with the others; None for too few days, or rewards that never differ.

    >>> days = [RewardDay(age, 1000.0, 50.0 + age % 3, 50.0) for age in range(1, 12)]
    >>> late_rewards([RewardDay(0, 1000.0, 20.0, 20.0), *days]).rings
    True
    """
    youngest = [day for day in days if day.age == 0 and day.n]
    # The oldest one is seldom whole.
    others = [day for day in days if day.age and day.n][:-1]
    if not youngest or len(others) < LEAST_DAYS:
        return None
    n, s, q = (sum(getattr(day, name) for day in days) for name in ("n", "s", "q"))
    last, means = youngest[0], [day.s / day.n for day in others]
    usual = mean(means)
    spread = max(variance(means), (q / n - (s / n) ** 2) / last.n)
    if spread <= 0 or usual <= 0:
        return None
    t = (last.s / last.n - usual) / math.sqrt(spread * (1 + 1 / len(means)))
    return LateRewards(len(means), last.s / last.n / usual, t, t < -t_quantile(1 - LEVEL, len(means) - 1))


def round_ratio(days: Sequence[RewardDay]) -> int | None:
    """Return how many events of one outcome there are to each of the other, if rewards are 0 or 1 and it is exact.

    None where the log is too small for that to be telling, or the ratio too large.

    >>> round_ratio([RewardDay(0, 100_000.0, 20_000.0, 20_000.0)]), round_ratio([RewardDay(0, 1e5, 20_001.0, 20_001.0)])
    (4, None)
    """
    n, s, q = (sum(getattr(day, name) for day in days) for name in ("n", "s", "q"))
    few, many = sorted((round(s), round(n - s)))
    if abs(q - s) > 1e-9 * n or few <= 0 or few * many < ENOUGH * n or many % few:
        return None
    return many // few if many // few <= MOST_ROUND else None


def t_quantile(level: float, degrees: int) -> float:
    """Return the quantile of Student's t by its expansion in 1 / degrees (Abramowitz and Stegun 26.7.5).

    Too small by at most 1 % from six degrees on.

    >>> round(t_quantile(0.99, 6), 2), round(t_quantile(0.99, 29), 3)
    (3.14, 2.462)
    """
    z = NormalDist().inv_cdf(level)
    terms = (
        (z**2 + 1) / 4,
        (5 * z**4 + 16 * z**2 + 3) / 96,
        (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384,
    )
    return z * (1 + sum(term / float(degrees) ** (place + 1) for place, term in enumerate(terms)))
