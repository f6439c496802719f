"""Slots: sums by ten minutes, of some contexts where a log is large."""

import ibis
import numpy as np
import pyarrow as pa
import pytest
from tests.support.reacting_loggers import START, calendar, read

import warmstart as ws
from warmstart.auditing import epoch_facts
from warmstart.events import open_slots, slots


def log(**shape):
    return calendar(np.random.default_rng(0), sharp=False, days=2, **shape)


def rows_of(held):
    return held.engine.fetch(held.table)


def test_slots_are_sums_by_ten_minutes(engine):
    x, a, r, time = log(contexts=4, per_day=200)
    with open_slots(read((x, a, r, time), engine)) as held:
        rows = rows_of(held)
    first = min(row["slot"] for row in rows) - int(time.min() * 144)
    found = {(row["context_0"], row["action"], row["slot"] - first): (row["n"], row["reward_sum"]) for row in rows}
    expected = {}
    for key in zip(x, a, np.floor(time * 144).astype(int), strict=True):
        mine = (x == key[0]) & (a == key[1]) & (np.floor(time * 144) == key[2])
        expected[tuple(map(int, key))] = (mine.sum(), r[mine].sum())
    assert found == expected
    assert held.share == 1


def test_of_many_events_those_of_some_contexts_are_held(engine, monkeypatch):
    monkeypatch.setattr(slots, "SAMPLED_EVENTS", 1000)
    x, a, r, time = log(contexts=600, per_day=2000)
    with open_slots(read((x, a, r, time), engine)) as held:
        contexts = {row["context_0"] for row in rows_of(held)}
        events = sum(row["n"] for row in rows_of(held))
    assert held.share == pytest.approx(0.25)
    assert 100 <= len(contexts) < 250
    assert events == sum(np.isin(x, list(contexts)))


def test_of_few_contexts_some_moments_are_held(engine, monkeypatch):
    monkeypatch.setattr(slots, "SAMPLED_EVENTS", 1000)
    with open_slots(read(log(contexts=3, per_day=2000), engine)) as held:
        rows = rows_of(held)
    assert len({row["context_0"] for row in rows}) == 3
    assert sum(row["n"] for row in rows) == pytest.approx(1000, rel=0.2)


def test_a_sample_is_stated(monkeypatch):
    monkeypatch.setattr(slots, "SAMPLED_EVENTS", 1000)
    facts = epoch_facts(read(log(contexts=600, per_day=2000)))
    assert facts.sample == pytest.approx(0.25)
    assert "sample: 25 % of the contexts" in " ".join(facts.notes)


def test_sqlite_which_has_no_hash_is_sampled_here(monkeypatch, tmp_path):
    x, a, r, time = log(contexts=600, per_day=2000)
    seconds = (START // 1_000_000 + np.floor(time * 86_400)).astype(int)
    table = pa.table({"context": x, "action": a, "reward": r, "time": seconds})
    ibis.sqlite.connect(tmp_path / "log.db").create_table("log", table)
    names = {"context": "context", "action": "action", "reward": "reward", "time": "time"}
    events = ws.read_events(f"sqlite://{tmp_path}/log.db", table="log", **names)
    monkeypatch.setattr(slots, "SAMPLED_EVENTS", 1000)
    for fewest in (0, 10_000):
        monkeypatch.setattr(slots, "SAMPLED_CONTEXTS", fewest)
        with open_slots(events) as held:
            rows = rows_of(held)
        assert 0 < sum(row["n"] for row in rows) < 0.6 * len(x)
