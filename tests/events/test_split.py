"""Windows: events of the same time stay together, and no event is lost."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from tests.support.examples import in_many, of_any
from tests.support.logs import moment, random_log, read

import warmstart as ws

START = 1_767_225_600_000_000


def events_at(times, engine):
    count = len(times)
    log = pa.table({"x": ["p"] * count, "a": ["a"] * count, "r": [0.0] * count, "t": [START + t for t in times]})
    return ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)


@of_any(
    times=st.lists(st.one_of(st.integers(0, 9), st.integers(0, 3 * 10**12)), min_size=2, max_size=30).filter(
        lambda t: len(set(t)) > 1
    ),
    fraction=st.floats(0.01, 0.99),
)
@pytest.mark.slow_on_spark
def test_a_fraction_splits_as_near_as_ties_allow(engine, times, fraction):
    early, late = events_at(times, engine).split(fraction=fraction)
    assert len(early) + len(late) == len(times)
    assert early.window.last < late.window.first
    wanted = fraction * len(times)
    ordered = sorted(times)
    possible = [i for i in range(1, len(ordered)) if ordered[i - 1] < ordered[i]]
    assert abs(len(early) - wanted) == pytest.approx(min(abs(i - wanted) for i in possible))


@pytest.mark.slow
def test_a_fraction_splits_as_near_as_ties_allow_in_many_examples(duckdb):
    in_many(test_a_fraction_splits_as_near_as_ties_allow, engine=duckdb)


def test_a_fraction_splits_on_every_engine(engine):
    events = read(random_log(1), engine)
    early, late = events.split(fraction=0.6)
    assert (len(early), len(late)) == (188, 112)


def test_a_moment_goes_to_the_later_window(engine):
    events = events_at([0, 1, 2, 3], engine)
    early, late = events.split(at=START + 2)
    assert (len(early), len(late)) == (2, 2)


@pytest.mark.slow_on_spark
def test_windows_can_be_split_again(engine):
    first, rest = read(random_log(1), engine).split(at=moment(2))
    second, third = rest.split(at=moment(5))
    assert len(first) + len(second) + len(third) == 300
    assert ws.evaluate("uniform", third, train=first, tau=0.1).log.events == len(first) + len(third)
    assert not first.window.overlaps(second.window)


@pytest.mark.parametrize(
    "at", ["2026-10-03T12:00:00+00:00", "2026-10-03T14:00:00+02:00", "2026-10-03 12:00", dt.datetime(2026, 10, 3, 12)]
)
@pytest.mark.slow_on_spark
def test_moments_may_be_written_in_many_ways(engine, at):
    early, _ = read(random_log(1), engine).split(at=at)
    assert early.window.last < moment(2).timestamp() * 1e6


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ws.UsageError, "either at a time or at a fraction"),
        ({"at": "2026-10-03", "fraction": 0.5}, ws.UsageError, "either"),
        ({"fraction": 1.5}, ws.UsageError, "between 0 and 1"),
        ({"at": "someday"}, ws.UsageError, "Cannot read 'someday' as a time"),
        ({"at": "1999-01-01"}, ws.EmptyWindowError, "earlier window has no events.*The log runs from 2026-10-01"),
        ({"at": "2050-01-01"}, ws.EmptyWindowError, "later window has no events"),
    ],
)
@pytest.mark.slow_on_spark
def test_splits_that_cannot_be(engine, options, error, message):
    with pytest.raises(error, match=message):
        read(random_log(1), engine).split(**options)


def test_an_integer_is_in_the_unit_of_the_logs_own_times(engine):
    log = pa.table({"x": ["p"] * 2, "a": ["a"] * 2, "r": [0.0] * 2, "t": [1_767_225_600, 1_767_225_700]})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)
    assert [len(part) for part in events.split(at=1_767_225_650)] == [1, 1]
    with pytest.raises(ws.UsageError, match="cannot be a moment"):
        read(random_log(1), engine).split(at=1_767_225_650)


@pytest.mark.slow_on_spark
def test_one_moment_cannot_be_split(engine):
    with pytest.raises(ws.EmptyWindowError):
        events_at([5, 5, 5], engine).split(fraction=0.5)


def test_without_times_a_split_is_a_wrong_call_that_names_folds(engine):
    with pytest.raises(ws.UsageError, match="folds"):
        read(random_log(1), engine, time=False).split(fraction=0.5)


@pytest.mark.slow_on_spark
def test_overlapping_windows_are_refused(engine):
    events = read(random_log(1), engine)
    early, _ = events.split(at=moment(3))
    with pytest.raises(ws.UsageError, match="overlap"):
        ws.evaluate("uniform", events, train=early, tau=0.1)


def test_the_same_file_read_twice_cannot_be_train_and_evaluated(tmp_path):
    import pyarrow.parquet as pq
    from tests.support.logs import table

    path = tmp_path / "log.parquet"
    pq.write_table(table(random_log(1)), path)
    one, other = (ws.read_events(path, context="context", action="action", reward="reward", time="time") for _ in "ab")
    with pytest.raises(ws.UsageError, match="overlap"):
        ws.evaluate("uniform", one, train=other, tau=0.1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"context": ["time", "context"]}, "same columns in the same order"),
        ({"context": ["context"]}, "same columns in the same order"),
        ({"context": ["context", "time"], "action": "reward", "reward": "one"}, "has type string in the evaluated log"),
    ],
)
@pytest.mark.slow_on_spark
def test_training_logs_that_do_not_match_are_refused(engine, columns, message):
    from tests.support.logs import table

    log = table(random_log(1))
    log = log.append_column("one", [[1.0] * log.num_rows])
    names = {"context": ["context", "time"], "action": "action", "reward": "reward", "engine": engine}
    with pytest.raises(ws.ColumnError, match=message):
        ws.evaluate("uniform", ws.read_events(log, **names), train=ws.read_events(log, **names | columns), tau=0.1)


@pytest.mark.parametrize("timed", [0, 1])
@pytest.mark.slow_on_spark
def test_a_training_log_may_lack_times_or_be_the_only_one_with_them(engine, timed):
    rows = random_log(8)
    early = read([row for row in rows if row[3] < 4], engine, time=timed == 0)
    late = read([row for row in rows if row[3] >= 4], engine, time=timed == 1)
    found = ws.evaluate("uniform", late, train=early, tau=0.05)
    first, second = read(rows, engine).split(at=moment(4))
    together = ws.evaluate("uniform", second, train=first, tau=0.05, live=False)
    assert not found.windows.live
    assert found["uniform"].value == pytest.approx(together["uniform"].value)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.slow_on_spark
def test_a_dense_log_splits_exactly(engine, seed):
    """20,000 events within a minute and one months later: the first pass sees the minute as a dozen spans."""
    import numpy as np

    times = np.sort(np.random.default_rng(seed).integers(0, 60_000_000, size=20_000))
    times[-1] = 10**13
    events = events_at(times.tolist(), engine)
    for fraction in (0.1, 0.35, 0.65):
        early, _ = events.split(fraction=fraction)
        assert abs(len(early) - fraction * 20_000) <= 2
        assert len(early) == (times <= early.window.last - START).sum()
