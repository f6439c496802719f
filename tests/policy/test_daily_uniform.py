"""Uniform among the actions live that day."""

import math

import pyarrow as pa
import pytest
from tests.support.logs import moment, random_log, read, table

import warmstart as ws
from warmstart.engine import connect
from warmstart.policy import daily_traffic


def test_uniform_chooses_each_day_among_live_actions_and_is_undecided_where_there_is_none(engine):
    """Feasible for p are a and b, from training; a is last shown on day 3, and b, shown on day 5, lives on."""
    log = [("p", "a", 0.0, 0), ("p", "b", 0.0, 1), ("q", "d", 0.0, 1)]
    log += [("p", "b", 0.0, 2), ("q", "a", 0.0, 3), ("p", "c", 1.0, 3), ("p", "b", 1.0, 5), ("q", "c", 1.0, 5)]
    early, late = read(log, engine).split(at=moment(2))
    found = ws.policy_table("uniform", late, train=early).to_pylist()
    h = {(row["context"], row["action"]): row["probability"] for row in found}
    # p has traffic on days 2 and 3 (a and b live) and on day 5 (b alone); q's only feasible action died on day 1.
    assert h == pytest.approx({("p", "a"): 1 / 3, ("p", "b"): 2 / 3})
    support = ws.evaluate("uniform", late, train=early, tau=0.1, estimators=["ips"])["uniform"].support
    assert support.undecided == pytest.approx(2 / 5)
    assert support.unsupported == pytest.approx(3 / 5 * 1 / 3)


@pytest.mark.parametrize("feasible_from", ["train", "evaluated", "all"])
def test_the_sweep_here_and_the_sweep_in_the_engine_agree(feasible_from, monkeypatch):
    engine = connect()
    early, late = read(random_log(3, events=900, contexts=9, actions=7, days=20), engine).split(at=moment(9))
    tables = []
    for room in (math.inf, 1e6, 1.0, 0.0):
        monkeypatch.setattr(engine, "room", room)
        table = ws.policy_table("uniform", late, train=early, feasible_from=feasible_from)
        tables.append({(row["context"], row["action"]): row["probability"] for row in table.to_pylist()})
    for table in tables[1:]:
        assert tables[0] == pytest.approx(table, abs=1e-12)
    assert len(tables[0]) > 20


@pytest.mark.parametrize("parts", [1, 2, 4, 8])
def test_the_traffic_is_the_same_in_parts_and_where_contexts_share_a_hash(parts, monkeypatch):
    """A log that is read in eight parts would be read too often: then the engine orders it."""
    engine = connect()
    early, late = read(random_log(5, events=900, contexts=40, actions=7, days=20), engine).split(at=moment(9))
    asked, read_in = [], []
    numbers = daily_traffic._numbers
    monkeypatch.setattr(daily_traffic, "BYTES_AN_EVENT", parts * 0.9 * 1e6 / len(late))
    monkeypatch.setattr(daily_traffic, "_numbers", lambda *given: read_in.append(1) or numbers(*given))
    tables = []
    for room in (1e6, 0.0):
        monkeypatch.setattr(engine, "room", room)
        tables.append(ws.policy_table("uniform", late, train=early).to_pylist())
    assert len(read_in) == (parts if parts <= daily_traffic.MOST_PARTS else 0)
    monkeypatch.setattr(engine, "room", 1e6)
    few = engine.key_hash
    monkeypatch.setattr(engine, "key_hash", lambda keys: asked.append(1) or few(keys) >> 60 << 60)
    tables.append(ws.policy_table("uniform", late, train=early).to_pylist())
    assert len(asked) == (2 if parts <= daily_traffic.MOST_PARTS else 0)
    first, *others = [{(row["context"], row["action"]): row["probability"] for row in table} for table in tables]
    for other in others:
        assert first == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("room", [math.inf, 0.0])
def test_contexts_may_be_times_and_several(room, monkeypatch):
    engine = connect()
    monkeypatch.setattr(engine, "room", room)
    log = table(random_log(4))
    log = log.append_column("hour", log["time"].cast(pa.timestamp("us")))
    options = {"action": "action", "reward": "reward", "time": "time", "engine": engine}
    alone = ws.read_events(log, context="hour", **options)
    assert ws.evaluate("uniform", alone, tau=0.001, estimators=["ips"])["uniform"].support.supported == pytest.approx(1)
    both = ws.read_events(log, context=["context", "hour"], **options)
    assert ws.evaluate("uniform", both, tau=0.1, estimators=["ips"])["uniform"].events == 300


@pytest.mark.slow_on_spark
def test_without_times_actions_are_assumed_to_be_showable_all_window(engine):
    found = ws.evaluate("uniform", read(random_log(1), engine, time=False), tau=0.1)
    assert not found.windows.live
    assert "assuming that they could be shown all window" in str(found)


@pytest.mark.slow_on_spark
def test_an_action_is_live_between_its_days_anywhere_in_the_log(engine):
    """Evaluated in the middle: a, shown on days 0 and 9 only, is live on day 5."""
    log = [("p", "a", 0.0, 0), ("p", "b", 0.0, 0), ("p", "b", 1.0, 5), ("p", "a", 0.0, 9)]
    first, rest = read(log, engine).split(at=moment(4))
    middle, _ = rest.split(at=moment(8))
    table = {row["action"]: row["probability"] for row in ws.policy_table("uniform", middle, train=first).to_pylist()}
    assert table == {"a": 0.5, "b": 0.5}


@pytest.mark.slow_on_spark
def test_uniform_without_a_feasible_action_anywhere_is_undecided_and_no_error(engine):
    first, second = read([("p", "a", 0.0, 0), ("q", "a", 1.0, 1), ("q", "a", 1.0, 1)], engine).split(at=moment(1))
    found = ws.evaluate(["uniform", "logging"], second, train=first, tau=0.1, estimators=["ips"])
    assert found["uniform"].support.undecided == 1
    assert found["uniform"].gain.certified.difference is None
    assert found["logging"].value == 1


def test_a_day_begins_at_midnight_utc(engine):
    """a at hours 1 and 19, b at 19 and 40: on the first day both are live, on the second b alone."""
    from datetime import UTC, datetime, timedelta

    times = [datetime(2026, 10, 1, tzinfo=UTC) + timedelta(hours=h) for h in (1, 19, 19, 40)]
    log = pa.table({"x": ["p"] * 4, "a": ["a", "a", "b", "b"], "r": [0.0] * 4, "t": times})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)
    for live, expected in ((True, {"a": 0.375, "b": 0.625}), (False, {"a": 0.5, "b": 0.5})):
        table = ws.policy_table("uniform", events, live=live).to_pylist()
        assert {row["a"]: row["probability"] for row in table} == pytest.approx(expected)
