"""Intervals of the best estimate and of the estimated gain hold the truth as often as they promise, for every source.

100 logs of 4,000 events, twenty a source, at reward rates of .02 and .5; two policies each, one of which chooses at
random; and as many in which no action has an effect. ``studies.best_estimate`` and ``studies.no_effect`` measure the
same on more logs.
"""

from functools import cache

import numpy as np
import pytest
from studies.best_estimate import HALF, WIDE, judge, scores
from studies.truths import GOOD, NULL, cells, changing, grouped, randomised, without_effect

pytestmark = pytest.mark.slow

EVENTS = 4_000
SOURCES = {
    "counts": lambda seed, rate: cells(seed, rate, "random", events=EVENTS),
    "back-off": lambda seed, rate: grouped(seed, rate, events=EVENTS),
    "model": lambda seed, rate: randomised(seed, rate, "model", events=EVENTS),
    "mixture": lambda seed, rate: changing(seed, rate, "mixture", events=EVENTS),
    "logged": lambda seed, rate: randomised(seed, rate, "logged", events=EVENTS),
}
OF_VALUE, OF_GAIN = "", "gain_"


@pytest.fixture(scope="module")
def rows():
    """What evaluate said of every log, by source."""
    return {
        source: [row for seed in range(1000, 1010) for rate in (0.02, 0.5) for row in judge(draw(seed, rate))]
        for source, draw in SOURCES.items()
    }


@pytest.fixture(scope="module")
def no_effect():
    """What evaluate said of the logs of a source in which rewards go by the context alone."""

    @cache
    def found(source):
        logs = ((seed, SOURCES[source](seed, rate)) for seed in range(2000, 2010) for rate in (0.02, 0.5))
        return [row for seed, drawn in logs for row in judge(without_effect(drawn, seed))]

    return found


def misses(z, quantile):
    """The share of intervals that do not hold the truth."""
    return float(np.mean(np.abs(z) > quantile))


def is_honest(z):
    """Of 40 intervals or more: at most 15 % of those for 95 % miss, and errors are about as large as they say.

    Where a twentieth misses, 15 % of 40 do in 1 run of 300, and errors are 1.3 of what they should be in 1 of 100.
    """
    return misses(z, WIDE) <= 0.15 and np.sqrt(np.mean(z**2)) <= 1.3


@pytest.mark.parametrize("of", [OF_VALUE, OF_GAIN], ids=["value", "gain"])
@pytest.mark.parametrize("source", SOURCES)
def test_intervals_hold_the_truth(rows, source, of):
    z = scores(rows[source], of)
    assert len(z) >= 38, "intervals are there where there is overlap"
    assert is_honest(z)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("policy", [GOOD, NULL])
def test_no_gain_is_seen_where_no_action_has_an_effect(no_effect, source, policy):
    """At most 3 of 20 intervals miss 0, the true gain of every policy: 1 run of 60 would, by chance."""
    found = [row for row in no_effect(source) if row["policy"] == policy]
    assert max(abs(row["gain_truth"]) for row in found) < 1e-12
    z = scores(found, OF_GAIN)
    assert len(z) == 20
    assert (np.abs(z) > WIDE).sum() <= 3
    assert abs(z.mean()) <= 0.8


def pooled(rows):
    return np.concatenate([scores(some, OF_GAIN) for some in rows.values()])


def is_honest_over_all(z):
    """Of 200 intervals: misses, and the size of errors, within about two and a half standard errors of what is due."""
    return misses(z, WIDE) <= 0.10 and np.sqrt(np.mean(z**2)) <= 1.15


def test_intervals_are_neither_too_short_nor_needlessly_long_over_all_sources(rows):
    z = pooled(rows)
    assert is_honest_over_all(z)
    assert np.sqrt(np.mean(z**2)) >= 0.8
    assert 0.3 <= misses(z, HALF) <= 0.62, "half of the intervals for 50 % miss"


def test_half_the_variance_would_be_seen(rows):
    assert not is_honest_over_all(np.sqrt(2) * pooled(rows))
