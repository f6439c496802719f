"""Windows of whole epochs until a moment, and the first epochs of units: against plain Python."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

START = datetime(2026, 10, 4, 22, 30, tzinfo=UTC)  # a Sunday
LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
MONDAY = datetime(2026, 9, 28, tzinfo=UTC)


def read(times, engine="duckdb", **options):
    """Events at these times, numbered in their rewards' place."""
    n = len(times)
    more = {name: options.pop(name) for name in ("version", "user") if name in options}
    columns = {"x": ["p"] * n, "a": [i % 2 for i in range(n)], "r": [float(i) for i in range(n)], "at": times}
    names = {"context": "x", "action": "a", "reward": "r", "time": "at", "ranges": {"r": (0, n)}, "engine": engine}
    return ws.read_events(pa.table({**columns, **more}), **names | options)


def numbers(events):
    """Which events these are."""
    table = events.engine.fetch(events.table.select("reward"))
    found = sorted(round(row["reward"] * events.log.reward_range[1]) for row in table)
    assert len(found) == len(events)
    return found


def minutes(*some):
    return [START + timedelta(minutes=m) for m in some]


@pytest.fixture(scope="module")
def irregular():
    rng = np.random.default_rng(3)
    return sorted(minutes(*rng.integers(0, 60 * 24 * 24, size=120).tolist()))


class TestUntil:
    @pytest.mark.parametrize("epoch", LENGTHS)
    def test_it_cuts_back_to_whole_epochs(self, irregular, epoch):
        events, length = read(irregular, epoch=epoch), LENGTHS[epoch]
        cut = []
        for later in (0, 1, 7.1, 9.3, 13, 22.99):
            moment = irregular[0].replace(minute=0) + timedelta(days=later, minutes=40)
            ends = [MONDAY + length * ((time - MONDAY) // length + 1) for time in irregular]
            expected = [i for i, end in enumerate(ends) if end <= moment]
            if not expected:
                with pytest.raises(ws.EmptyWindowError, match="no whole epoch until"):
                    events.until(moment)
                continue
            assert numbers(events.until(moment)) == expected, moment
            cut.append(sum(time < moment for time in irregular) > len(expected))
        assert any(cut)

    def test_an_end_of_an_epoch_is_not_inside_it(self):
        events = read(minutes(0, 30, 80, 90, 91, 150), epoch="hour")
        assert numbers(events.until("2026-10-05T00:00:00Z")) == [0, 1, 2]
        assert numbers(events.until("2026-10-05T00:59:59.999999Z")) == [0, 1, 2]
        assert numbers(events.until("2026-10-05T01:00:00Z")) == [0, 1, 2, 3, 4]

    def test_an_epoch_goes_on_after_its_last_event(self):
        events = read(minutes(0, 30, 90), epoch="day")
        assert numbers(events.until("2026-10-05T23:59:00Z")) == [0, 1]
        assert events.until("2026-10-06") is events

    def test_before_the_first_event_and_in_the_first_epoch(self):
        events = read(minutes(0, 30, 90), epoch="day")
        for moment in ("2026-10-01", "2026-10-04T23:00:00Z"):
            with pytest.raises(ws.EmptyWindowError, match="no whole epoch until 2026-10-0") as refused:
                events.until(moment)
            assert "runs from 2026-10-04" in refused.value.hint

    def test_without_epochs_it_cuts_at_the_moment(self):
        for options in ({}, {"epoch": "auto"}):
            events = read(minutes(0, 30, 90), **options)
            assert numbers(events.until("2026-10-04T23:00:00Z")) == [0]
        with pytest.raises(ws.EmptyWindowError, match="There are no events until"):
            read(minutes(0, 30)).until("2026-10-01")

    def test_of_a_window_only(self):
        _, late = read(minutes(*range(0, 600, 30)), epoch="hour").split(at="2026-10-05T01:00:00Z")
        assert numbers(late.until("2026-10-05T03:10:00Z")) == [5, 6, 7, 8]
        with pytest.raises(ws.EmptyWindowError):
            late.until("2026-10-05T01:59:00Z")

    def test_epochs_of_a_column(self, any_engine):
        version = ["z"] * 3 + ["b"] * 3 + ["m"] * 3
        events = read(minutes(*range(9)), any_engine, epoch="version", version=version)
        times = minutes(*range(9))
        assert numbers(events.until(times[3])) == [0, 1, 2]
        assert numbers(events.until(times[5])) == [0, 1, 2]
        # It has ended with its last event: nobody knows of others.
        assert numbers(events.until(times[5] + timedelta(seconds=1))) == [0, 1, 2, 3, 4, 5]
        assert events.until(times[8] + timedelta(seconds=1)) is events
        for moment in (times[2], times[0]):
            with pytest.raises(ws.EmptyWindowError, match="no whole epoch"):
                events.until(moment)

    def test_epochs_of_a_column_that_go_on_side_by_side(self):
        """a: 0 to 4, b: 3 to 6, c: 8 to 9, d: 9 to 11."""
        version = ["a", "a", "a", "b", "a", "b", "b", "c", "c", "d", "d"]
        times = minutes(0, 1, 2, 3, 4, 5, 6, 8, 9, 9, 11)
        events = read(times, epoch="version", version=version)
        assert numbers(events.until(times[6] + timedelta(seconds=1))) == list(range(7))
        assert numbers(events.until(times[-1])) == list(range(7))
        for moment in (times[4] + timedelta(seconds=1), times[6]):
            with pytest.raises(ws.EmptyWindowError):
                events.until(moment)

    def test_without_times(self):
        events = ws.read_events(pa.table({"x": [0], "a": [0], "r": [0]}), context="x", action="a", reward="r")
        with pytest.raises(ws.UsageError, match="without a time column") as refused:
            events.until("2026-10-05")
        assert "time=" in refused.value.hint


class TestFirstEpochs:
    TIMES = minutes(*range(0, 1200, 10))
    USERS = np.random.default_rng(5).integers(25, size=120).tolist()

    def expected(self, epochs, inside=lambda _: True):
        first = {}
        for user, epoch in zip(self.USERS, epochs, strict=True):
            first.setdefault(user, epoch)
        pairs = zip(self.USERS, epochs, self.TIMES, strict=True)
        return [i for i, (user, epoch, time) in enumerate(pairs) if first[user] == epoch and inside(time)]

    @pytest.mark.parametrize("epoch", ["hour", "day"])
    def test_by_time(self, any_engine, epoch):
        found = read(self.TIMES, any_engine, user=self.USERS, unit="user", epoch=epoch).first_epochs()
        expected = self.expected([(time - MONDAY) // LENGTHS[epoch] for time in self.TIMES])
        assert numbers(found) == expected
        assert 20 < len(expected) < 120
        assert (found.window.first, found.window.last, found.log.rows) == (
            *(round(self.TIMES[i].timestamp() * 1e6) for i in (expected[0], expected[-1])),
            len(expected),
        )

    def test_by_a_column_that_sorts_otherwise(self):
        version = [f"v{9 - i // 15}" for i in range(120)]
        found = read(self.TIMES, user=self.USERS, version=version, unit="user", epoch="version").first_epochs()
        assert numbers(found) == self.expected(version)

    def test_of_epochs_at_the_same_moment_one_is_the_first(self):
        times = minutes(0, 0, 1, 1)
        found = read(
            times, user=[7, 7, 7, 7], version=["b", "a", "b", "a"], unit="user", epoch="version"
        ).first_epochs()
        assert numbers(found) == [1, 3]

    def test_in_a_window_the_first_epoch_of_the_log_counts(self):
        """Those who came before it are left out."""
        events = read(self.TIMES, user=self.USERS, unit="user", epoch="hour")
        early, late = events.split(at=self.TIMES[24])
        epochs = [(time - MONDAY) // LENGTHS["hour"] for time in self.TIMES]
        for window, inside in ((early, lambda t: t < self.TIMES[24]), (late, lambda t: t >= self.TIMES[24])):
            assert numbers(window.first_epochs()) == self.expected(epochs, inside)
        _, last = events.split(at=self.TIMES[-1])
        with pytest.raises(ws.EmptyWindowError, match="No unit is in its first epoch") as refused:
            last.first_epochs()
        assert "earlier" in refused.value.hint

    def test_asked_before_splitting(self):
        first = read(self.TIMES, user=self.USERS, unit="user", epoch="hour").first_epochs()
        early, late = first.split(at=self.TIMES[12])
        assert sorted(numbers(early) + numbers(late)) == numbers(first)
        assert set(np.array(self.USERS)[numbers(early)]).isdisjoint(np.array(self.USERS)[numbers(late)])

    @pytest.mark.parametrize(
        "options", [{"epoch": "hour"}, {"unit": "user"}, {"unit": "user", "epoch": "auto"}], ids=str
    )
    def test_what_is_needed(self, options):
        with pytest.raises(ws.UsageError, match="need a unit, epochs and times") as refused:
            read(self.TIMES, user=self.USERS, **options).first_epochs()
        assert "unit=" in refused.value.hint

    def test_folds_are_no_log(self):
        events = read(self.TIMES, user=self.USERS, unit="user", epoch="hour")
        with pytest.raises(ws.UsageError, match="folds already"):
            events.split(folds=2)[0][0].first_epochs()
