"""Late rewards and round ratios: false-alarm rates on sums of null logs, and logs that were made to be so."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as student
from tests.support.logs import START

import warmstart as ws
from warmstart.auditing.late_rewards import (
    RewardDay,
    late_rewards,
    reward_days,
    round_ratio,
    t_quantile,
)

WEEK = np.array([1, 1, 1, 1, 1.1, 0.8, 0.7])


def null_log(rng, kind, days):
    """Sums by day of a log whose rewards have all arrived; the youngest day first."""
    uneven = rng.uniform(100, 4000, days)
    n = rng.poisson(uneven if kind == "uneven traffic" else 2000, days)
    rate = np.full(days, 0.03)
    if kind == "weekdays":
        rate *= WEEK[(np.arange(days) + rng.integers(7)) % 7]
    if kind == "days that differ":
        rate *= np.exp(rng.normal(0, 0.15, days))
    rewards = rng.binomial(n, rate).astype(float)
    return [RewardDay(age, float(n[age]), rewards[age], rewards[age]) for age in range(days)]


@pytest.mark.parametrize("days", [9, 30])
@pytest.mark.parametrize("kind", ["the same every day", "weekdays", "days that differ", "uneven traffic"])
def test_the_false_alarm_rate_is_at_most_a_hundredth(kind, days):
    # 600 null logs. At a rate of 1 %, 15 alarms or more come in one run of 760.
    rng = np.random.default_rng(days)
    assert sum(late_rewards(null_log(rng, kind, days)).rings for _ in range(600)) <= 14


@pytest.mark.parametrize(("share", "power"), [(0.7, 0.25), (0.4, 0.9)])
def test_it_rings_where_rewards_of_the_last_day_are_still_to_come(share, power):
    rng, rang = np.random.default_rng(1), 0
    for _ in range(200):
        last, *others = null_log(rng, "the same every day", 30)
        arrived = float(rng.binomial(int(last.s), share))
        rang += late_rewards([RewardDay(0, last.n, arrived, arrived), *others]).rings
    assert rang >= 200 * power


def test_more_rewards_than_before_are_not_late_ones():
    days = [RewardDay(age, 1000.0, 50.0 + age % 3, 50.0) for age in range(1, 20)]
    found = late_rewards([RewardDay(0, 1000.0, 90.0, 90.0), *days])
    assert not found.rings
    assert found.ratio == pytest.approx(90 / np.mean([50 + age % 3 for age in range(1, 19)]))


def test_a_week_is_not_enough_and_the_oldest_day_has_no_say():
    days = [RewardDay(age, 100.0, 5.0, 5.0) for age in range(8)]
    assert late_rewards(days) is None
    whole = late_rewards([*days, RewardDay(8, 3.0, 3.0, 3.0)])
    assert (whole.days, whole.ratio) == (7, 1.0)
    assert late_rewards([RewardDay(age, 100.0, 0.0, 0.0) for age in range(30)]) is None
    assert late_rewards([]) is None


@pytest.mark.parametrize("degrees", [6, 8, 14, 29, 200])
def test_the_quantile_is_that_of_students_t(degrees):
    assert t_quantile(0.99, degrees) == pytest.approx(student.ppf(0.99, degrees), rel=0.01)


def test_the_chance_of_a_round_ratio_is_small_whatever_the_rate():
    # The worst rate is round itself: at most 1 / sqrt(2 pi n p (1 - p)) = .4 % from n p (1 - p) = 10,000 on.
    rng = np.random.default_rng(0)
    rewards = rng.binomial(62_500, 0.2, 3000).astype(float)
    rang = sum(round_ratio([RewardDay(0, 62_500.0, s, s)]) is not None for s in rewards)
    assert rang <= 3000 * 0.004 + 3 * np.sqrt(3000 * 0.004)


@pytest.mark.parametrize(
    ("n", "s", "ratio"),
    [
        (100_000, 50_000, 1),
        (100_000, 20_000, 4),
        (100_000, 80_000, 4),
        (100_000, 20_001, None),
        (1_000, 200, None),
        (3_000_000, 100_000, None),
        (100_000, 0, None),
        (100_000, 100_000, None),
    ],
)
def test_a_ratio_is_round_if_it_is_exact_small_and_not_by_chance(n, s, ratio):
    assert round_ratio([RewardDay(1, n / 2, s / 2, s / 2), RewardDay(0, n / 2, s / 2, s / 2)]) == ratio


def test_rewards_between_0_and_1_have_no_ratio():
    assert round_ratio([RewardDay(0, 100_000.0, 50_000.0, 40_000.0)]) is None


@pytest.mark.slow_on_spark
def test_days_are_counted_back_from_the_last_event(engine):
    hours = [0, 5, 23, 25, 49, 240]
    times = [START + timedelta(hours=240 - hour) for hour in hours]
    rows = {"x": ["p"] * 6, "a": ["a"] * 6, "r": [2.0, 0.0, 1.0, 2.0, 2.0, 0.0], "t": times}
    names = {"context": "x", "action": "a", "reward": "r", "ranges": {"r": (0, 2)}, "engine": engine}
    days = reward_days(ws.read_events(pa.table(rows), time="t", **names))
    assert days == [
        *(RewardDay(0, 3.0, 1.5, 1.25), RewardDay(1, 1.0, 1.0, 1.0)),
        *(RewardDay(2, 1.0, 1.0, 1.0), RewardDay(10, 1.0, 0.0, 0.0)),
    ]
    without = reward_days(ws.read_events(pa.table(rows), **names))
    assert without == [RewardDay(0, 6.0, 3.5, 3.25)]
