"""How assumptions stand: each line on logs that keep it, break it, or cannot tell."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from tests.support.epoch_logs import Blocks
from tests.support.epoch_worlds import World, as_table, decisions, draw
from tests.support.logs import START, moment, random_log, read
from tests.support.unit_logs import read_units, unit_log

import warmstart as ws

MINE = pa.table({"context": [f"x{i}" for i in range(6)], "action": ["a0"] * 6})


def results(found):
    return {one.code: one.result for one in found.assumptions}


def log(*, events=20_000, days=20, rate=0.2, seed=0, **columns):
    """Two pages, two ads, clicks, and times within the day."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, days * 86400, events))
    return {
        "page": rng.choice(["p", "q"], events),
        "ad": rng.choice(["a", "b"], events),
        "click": (rng.random(events) < rate).astype(float),
        "at": np.datetime64("2026-10-01", "us") + seconds * np.timedelta64(1_000_000, "us"),
        "request": [f"r{i}" for i in range(events)],
        **columns,
    }


def events_of(columns, duckdb, **options):
    names = {"context": "page", "action": "ad", "reward": "click", "time": "at", **options}
    return ws.read_events(pa.table(columns), **names, engine=duckdb)


def test_a_sound_log_shows_no_sign_and_never_more_than_that(duckdb):
    events = events_of(log(), duckdb, event_id="request")
    found, audit = ws.evaluate("uniform", events, tau=0.05), ws.audit(events)
    assert results(found) == {
        "WS101": "not testable",
        "WS102": "not checked",
        "WS111": "not checked",
        "WS107": "not checked",
        "WS105": "holds",
        "WS103": "holds",
        "WS112": "no sign",
        "WS113": "not testable",
        "WS207": "no sign",
    }
    assert results(audit) == {
        "WS101": "not testable",
        "WS102": "no sign",
        "WS111": "no sign",
        "WS107": "not testable",
        "WS112": "no sign",
        "WS113": "not testable",
        "WS207": "no sign",
    }
    assert not any("WARNING" in note for note in (*found.notes, *audit.notes))


def test_late_rewards_are_suspicious(duckdb):
    columns = log()
    late = columns["at"] > columns["at"][-1] - np.timedelta64(1, "D")
    columns["click"] = np.where(late & (np.arange(len(late)) % 2 == 0), 0.0, columns["click"])
    events = events_of(columns, duckdb)
    for found in (ws.evaluate("uniform", events, tau=0.05), ws.audit(events)):
        assert results(found)["WS112"] == "suspicious"
        (note,) = [note for note in found.notes if "(WS112)" in note]
        assert note.startswith("WARNING: Suspicious, that all rewards had arrived: the last 24 hours earned ")


def test_negatives_that_were_thinned_to_a_round_ratio_are_suspicious(duckdb):
    clicks = np.tile([1.0, 0.0, 0.0, 0.0], 20_000)
    columns = log(events=80_000, click=clicks)
    found = ws.evaluate("uniform", events_of(columns, duckdb), tau=0.05)
    assert results(found)["WS113"] == "suspicious"
    assert "exactly 3 events" in next(one.checked for one in found.assumptions if one.code == "WS113")
    clicks[0] = 0.0
    assert results(ws.evaluate("uniform", events_of(columns, duckdb), tau=0.05))["WS113"] == "not testable"


def test_copies_are_suspicious_and_repeated_ids_a_violation(duckdb):
    once = pa.table(log())
    twice = {name: pa.concat_tables([once, once.slice(0, 500)])[name] for name in once.column_names}
    assert results(ws.evaluate("uniform", events_of(twice, duckdb), tau=0.05))["WS207"] == "suspicious"
    named = events_of(twice, duckdb, event_id="request")
    assert results(ws.evaluate("uniform", named, tau=0.05))["WS207"] == "violated"
    assert results(ws.audit(named))["WS207"] == "violated"


def test_without_times_nothing_is_said_to_be_fine(duckdb):
    events = events_of(log(), duckdb, time=None)
    found = results(ws.evaluate("uniform", events, tau=0.05))
    assert {found[code] for code in ("WS102", "WS111", "WS112", "WS207")} == {"not checked"}
    audit = results(ws.audit(events))
    assert {audit[code] for code in ("WS102", "WS111", "WS112", "WS207")} == {"not checked"}


def test_drift_is_seen_by_an_audit(duckdb):
    columns, rng = log(events=40_000), np.random.default_rng(1)
    columns["click"] = (rng.random(40_000) < np.linspace(0.1, 0.3, 40_000)).astype(float)
    assert results(ws.audit(events_of(columns, duckdb)))["WS102"] == "suspicious"


def test_policies_hold_by_their_rule_or_by_what_was_said(duckdb):
    _, window = read(random_log(1), duckdb).split(at=moment(4))

    def fixed(policies, **said):
        found = ws.evaluate(policies, window, tau=0.1, **said)
        return next(one for one in found.assumptions if one.code == "WS103")

    assert fixed("uniform").result == "holds"
    assert fixed({"mine": MINE}).result == "not checked"
    assert "'mine'" in fixed({"mine": MINE}).checked
    assert fixed({"mine": MINE}, trained_until="never").result == "holds"
    assert fixed({"mine": MINE}, trained_until=moment(6)).result == "violated"


def test_weights_hold_with_counts_of_the_window_only(duckdb):
    early, late = read(random_log(1), duckdb).split(at=moment(4))
    for source in ("train", "all"):
        found = ws.evaluate("uniform", late, train=early, tau=0.05, propensities=source)
        ratio = found["uniform"].weight_ratio.mean
        rings = found["uniform"].withheld is not None
        assert results(found)["WS105"] == ("suspicious" if rings or abs(ratio - 1) > 0.05 else "no sign")
        assert f"{ratio:.3f}" in next(one.checked for one in found.assumptions if one.code == "WS105")


def test_weights_of_a_model_are_suspicious_where_an_alarm_rings(duckdb):
    world = Blocks(0)
    names = {"context": world.names, "action": "a", "reward": "r", "event_id": "i", "engine": duckdb, "time": "at"}
    events = ws.read_events(world.log(hours=24.0), **names)
    model, mixture = (
        ws.evaluate({"h": world.policy}, events, tau=0.01, propensities=source) for source in ("model", "mixture")
    )
    assert results(model)["WS105"] == "suspicious"
    assert results(mixture)["WS105"] == "no sign"


def test_units_are_not_said_to_be_independent(duckdb):
    found = ws.evaluate("uniform", read_units(unit_log(3)), tau=0.1, live=False)
    assert results(found)["WS107"] == "not testable"
    named = next(one.name for one in found.assumptions if one.code == "WS107")
    assert named == "rewards are independent across units"


def test_a_column_like_a_unit_is_suspicious_in_an_audit(duckdb):
    columns = log(events=2000, days=20)
    events = events_of({**columns, "user_id": [f"u{i % 300}" for i in range(2000)]}, duckdb)
    assert results(ws.audit(events))["WS107"] == "suspicious"


def test_units_of_the_window_that_were_in_training_are_a_violation_for_what_was_fitted_there(duckdb):
    users = np.random.default_rng(2).integers(0, 200, 4000).astype(str)
    events = events_of({**log(events=4000), "user": users}, duckdb, unit="user")
    train, test = events.split(fraction=0.5)
    mine = pa.table({"page": ["p", "q"], "ad": ["a", "b"]})
    for until, code, result in (
        (START - timedelta(days=1), "WS108", "violated"),
        (None, "WS108", "suspicious"),
        ("never", "WS107", "not testable"),
    ):
        found = ws.evaluate({"mine": mine}, test, train=train, tau=0.1, trained_until=until)
        assert results(found)[code] == result, until


@pytest.mark.parametrize("swapped", [False, True])
def test_epochs_that_overlap_are_a_violation(swapped):
    drawn = draw(World(epochs=3, events=120), 0)
    epoch = drawn.epoch.copy()
    if swapped:
        epoch[[119, 120]] = epoch[[120, 119]]
    table = drawn.table.set_column(5, "version", pa.array([f"v{e}" for e in epoch]))
    names = {"context": "context", "action": "action", "reward": "reward", "time": "time", "epoch": "version"}
    found = ws.evaluate({"p": as_table(decisions(drawn.world))}, ws.read_events(table, **names), propensities="counts")
    assert results(found).get("WS110") == ("violated" if swapped else None)
    assert all("epoch" in one.name for one in found.assumptions if one.code in ("WS102", "WS110", "WS111"))


def test_units_in_several_epochs_are_a_violation():
    drawn = draw(World(epochs=4, events=120), 0)
    table = replace(drawn, user=np.arange(len(drawn.epoch)) % 30).table
    names = {"context": "context", "action": "action", "reward": "reward", "time": "time", "epoch": "day"}
    found = ws.evaluate("uniform", ws.read_events(table, **names, unit="user"), propensities="counts")
    assert results(found)["WS109"] == "violated"


def test_at_most_two_queries_are_asked_for(duckdb, monkeypatch):
    from warmstart.pipeline.assumptions import LogChecks

    events, asked = events_of(log(events=500), duckdb), []
    engine = type(events.engine)
    fetch = engine.fetch
    monkeypatch.setattr(engine, "fetch", lambda self, *a, **k: asked.append(1) or fetch(self, *a, **k))
    LogChecks.of(events)
    assert len(asked) == 2
