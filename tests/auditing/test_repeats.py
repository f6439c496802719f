"""Copies: false-alarm rates on sums of null logs, the sums of the engine, and logs with copies."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import START

import warmstart as ws
from warmstart.auditing.repeats import ONE_IN, SAMPLE, Repeats, repeats


def sums(time, content):
    """What the engine sums, in NumPy."""
    n = len(time)
    distinct = np.unique(np.stack([time, content]), axis=1).shape[1]
    of_time, of_content = (np.unique(part, return_counts=True)[1].astype(float) for part in (time, content))
    alike = float((of_content**2).sum() - n) / (n * (n - 1))
    return Repeats("row", float(n), float(n - distinct), float((of_time * (of_time - 1)).sum()) / 2 * alike)


def null_log(rng, kind, n=3000):
    """Times in seconds, and what else is in a row as one number; nothing is there twice."""
    span = {"a month": 30 * 86400, "an hour of seconds": 3600, "ten minutes of seconds": 600}.get(kind, 7 * 86400)
    time = rng.integers(0, span, n)
    content = rng.choice(40, n, p=rng.dirichlet(np.full(40, 0.5)))
    if kind == "contexts of the hour":
        content = time // 3600 % 24 * 10 + rng.integers(0, 10, n)
    return time, content * 2 + (rng.random(n) < 0.05)


KINDS = ("a month", "a week", "an hour of seconds", "ten minutes of seconds", "contexts of the hour")


@pytest.mark.parametrize("kind", KINDS)
def test_the_false_alarm_rate_is_at_most_a_hundredth(kind):
    # 300 null logs. At a rate of 1 %, 9 alarms
    # or more come in one run of 277.
    rng = np.random.default_rng(5)
    assert sum(sums(*null_log(rng, kind)).rings for _ in range(300)) <= 8


@pytest.mark.parametrize("kind", ["a month", "a week"])
def test_it_rings_where_one_event_in_fifty_is_there_twice(kind):
    rng = np.random.default_rng(6)
    for _ in range(50):
        time, content = null_log(rng, kind)
        again = rng.integers(0, len(time), len(time) // 50)
        assert sums(*(np.append(part, part[again]) for part in (time, content))).rings


def test_times_that_are_too_coarse_tell_nothing():
    found = sums(*null_log(np.random.default_rng(7), "ten minutes of seconds"))
    assert found.copies > 100
    assert found.coarse
    assert not found.rings


def as_table(time, content):
    times = [START + timedelta(seconds=int(second)) for second in time]
    codes = content.astype(int)
    rows = {"x": [f"x{code // 2 % 8}" for code in codes], "a": [f"a{code // 16}" for code in codes], "t": times}
    return pa.table({**rows, "r": [float(code % 2) for code in codes]})


@pytest.mark.slow_on_spark
def test_the_engine_sums_what_numpy_does(engine):
    time, content = null_log(np.random.default_rng(8), "an hour of seconds", n=600)
    time, content = (np.append(part, part[:7]) for part in (time, content))
    events = ws.read_events(as_table(time, content), context="x", action="a", reward="r", time="t", engine=engine)
    found, expected = repeats(events), sums(time, content)
    assert (found.by, found.events, found.copies) == ("row", 607.0, expected.copies)
    assert found.chance == pytest.approx(expected.chance)


@pytest.mark.slow_on_spark
def test_an_id_that_occurs_twice_is_a_copy_whatever_its_time(engine):
    time, content = np.arange(200), np.zeros(200)
    ids = [f"e{i}" for i in range(199)]
    for last, copies in (("e199", 0.0), ("e0", 1.0)):
        log = as_table(time, content).append_column("id", [[*ids, last]])
        names = {"context": "x", "action": "a", "reward": "r", "event_id": "id", "engine": engine}
        found = repeats(ws.read_events(log, **names))
        assert (found.by, found.copies, found.rings) == ("id", copies, copies > 0)


def test_without_ids_and_times_nobody_can_tell(duckdb):
    log = as_table(np.arange(50) * 86400, np.zeros(50))
    names = {"context": "x", "action": "a", "reward": "r", "engine": duckdb}
    assert repeats(ws.read_events(log, **names)) is None
    midnight = log.set_column(2, "t", [[START.replace(hour=0) + timedelta(days=i) for i in range(50)]])
    assert repeats(ws.read_events(midnight, time="t", **names)) is None


def test_copies_of_a_large_log_stay_together_in_the_sample(duckdb):
    n, rng = 5 * SAMPLE, np.random.default_rng(9)
    seconds = rng.integers(0, 30 * 86400, n // 2)
    times = np.datetime64("2026-10-01") + np.append(seconds, seconds).astype("timedelta64[s]").astype("timedelta64[us]")
    keys = pa.array(np.append(*[rng.integers(0, 500, n // 2)] * 2).astype(str))
    log = pa.table({"x": keys, "a": ["a"] * n, "r": np.zeros(n), "t": times})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=duckdb)
    found = repeats(events)
    assert n / 20 < found.events < n / 4
    assert found.copies == pytest.approx(found.events / 2, rel=0.01)
    assert found.rings


def test_one_in_a_prime_of_whole_seconds_and_minutes_is_looked_at():
    for prime in ONE_IN[1:]:
        assert all(prime % divisor for divisor in range(2, int(prime**0.5) + 1))
        assert 60_000_000 % prime
