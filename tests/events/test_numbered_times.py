"""Integers in the place of times: numbered days are days everywhere, steps only say what came first."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "when"}


def log(when):
    rng = np.random.default_rng(1)
    n = len(when)
    columns = {"page": rng.choice(["p", "q"], n), "ad": rng.choice(["a", "b"], n), "click": rng.integers(0, 2, n)}
    return pa.table({**columns, "when": when})


def as_dates(table):
    dates = np.datetime64("1970-01-01") + table["when"].to_numpy().astype("timedelta64[D]")
    return table.set_column(table.schema.get_field_index("when"), "when", pa.array(dates))


DAYS = np.repeat(np.arange(3, 13), 40)


def test_numbered_days_are_what_dates_would_be():
    table = log(DAYS)
    # One action is shown on some days only: live actions are those of a number.
    late = table.filter(pa.compute.or_(pa.compute.less(table["when"], 8), pa.compute.equal(table["ad"], "a")))
    numbered, dated = (ws.read_events(one, **NAMES, epoch="day") for one in (late, as_dates(late)))
    assert str(numbered.window) == str(dated.window)
    assert [str(part.window) for part in numbered.split(fraction=0.5)] == [
        str(part.window) for part in dated.split(fraction=0.5)
    ]
    ours, theirs = (ws.evaluate(["uniform-all", "constant:b"], one, tau=0.1) for one in (numbered, dated))
    for one, other in zip(ours, theirs, strict=True):
        assert (one.value, one.lower, one.certified_upper) == pytest.approx(
            (other.value, other.lower, other.certified_upper)
        )
        assert one.support == other.support
    assert len(ours.policies[0].by_epoch) == 10
    assert [one.code for one in ours.remarks if one not in theirs.remarks] == ["WS220"]
    ours, theirs = (ws.audit(ws.read_events(one, **NAMES)) for one in (late, as_dates(late)))
    assert (ours.log.days, ours.log.numbered, theirs.log.numbered) == (10, "day", None)
    assert ours.checks == theirs.checks
    assert "The times in 'when' number days, shown as dates of which number 0 is 1970-01-01. (WS220)" in ours.notes


@pytest.mark.parametrize("at", [8, "8", "1970-01-09"])
def test_a_moment_may_be_a_number_of_the_log(at):
    early, late = ws.read_events(log(DAYS), **NAMES).split(at=at)
    assert (len(early), len(late)) == (200, 200)


def test_steps_say_what_came_first_and_no_more():
    events = ws.read_events(log(np.arange(1_000)), **NAMES)
    assert events.log.numbered == "step"
    early, late = events.split(at=700)
    assert (len(early), len(late)) == (700, 300)
    assert [len(part) for part in events.split(fraction=0.25)] == [250, 750]
    # All actions are live: there are no days on which some were not shown.
    assert ws.evaluate("uniform-all", late, tau=0.1)["uniform-all"].support.supported == 1.0
    with pytest.raises(ws.UsageError, match="number steps, so that there are no such epochs"):
        ws.read_events(log(np.arange(1_000)), **NAMES, epoch="day")


def test_windows_of_steps_are_shown_as_steps(tmp_path):
    events = ws.read_events(log(np.arange(3_000)), **NAMES)
    before, after = events.split(fraction=0.5)
    spans = ("1,500 events, steps 0 to 1,499", "1,500 events, steps 1,500 to 2,999")
    assert (str(before.window), str(after.window)) == spans
    result = ws.evaluate("uniform", after, train=before, tau=0.1)
    assert f"{spans[1]}." in str(result)
    assert "1970" not in str(result) + str(ws.audit(events))
    assert ws.load_result(result.save(tmp_path / "result.json")).windows == result.windows


def test_hours_of_numbered_days_are_refused():
    with pytest.raises(ws.UsageError, match="number days, so that there are no such epochs"):
        ws.read_events(log(DAYS), **NAMES, epoch="hour")
