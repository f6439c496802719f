"""The table of the contexts and actions in which policies are supported."""

from collections import Counter

import pyarrow as pa
import pytest
from tests.support.logs import moment, random_log, read, table

import warmstart as ws


def supported(policies, events, **options):
    parts = []
    found = ws.evaluate(policies, events, estimators=["ips"], on_support=parts.append, **options)
    return found, pa.concat_tables(parts)


def test_its_traffic_is_the_supported_share_and_every_choice_was_shown_so_often(duckdb):
    early, late = read(random_log(1), duckdb).split(at=moment(5))
    found, rows = supported(["uniform", "constant:a1", "logging"], late, train=early, tau=[0.05, 0.3])
    assert rows.column_names == ["policy", "tau", "context", "action", "probability", "propensity", "events"]
    log = table(random_log(1))
    window = [
        page
        for page, when in zip(log["context"].to_pylist(), log["time"].to_pylist(), strict=True)
        if when >= moment(5)
    ]
    traffic = Counter(window)
    for estimate in found:
        if estimate.is_logging:
            continue
        own = [one for one in rows.to_pylist() if (one["policy"], one["tau"]) == (estimate.policy, estimate.tau)]
        share = sum(one["probability"] * traffic[one["context"]] for one in own) / sum(traffic.values())
        assert share == pytest.approx(estimate.support.supported)
        assert own
        assert all(one["propensity"] >= estimate.tau for one in own)
        assert all(one["events"] == round(one["propensity"] * traffic[one["context"]]) for one in own)
    assert set(rows["policy"].to_pylist()) == {"uniform", "constant:a1"}


def test_names_that_an_engine_takes_for_one_another_are_kept(duckdb):
    log = pa.table({"w": ["p", "q"] * 20, "W": ["a", "b"] * 20, "r": [0.0, 1.0] * 20})
    events = ws.read_events(log, context="w", action="W", reward="r", engine=duckdb)
    _, rows = supported({"new": {"p": "a", "q": "a"}}, events, tau=0.1)
    assert rows.select(["w", "W", "events"]).to_pylist() == [{"w": "p", "W": "a", "events": 20}]


def test_what_is_no_rule_by_context_is_refused(duckdb):
    events = read(random_log(1), duckdb)
    with pytest.raises(ws.UsageError, match="No table says where a policy is supported by propensities"):
        supported("uniform", events, propensities="model")
    by_day = ws.read_events(
        table(random_log(1)), context="context", action="action", reward="reward", time="time", epoch="day"
    )
    with pytest.raises(ws.UsageError, match="No table says where"):
        supported("uniform", by_day)
    for name in ("by event", ""):
        with pytest.raises(ws.UsageError, match=f"'{name}' chooses by event"):
            supported({name: "column:reward"}, events)
    with pytest.raises(ws.UsageError, match="Logging supports all"):
        supported("logging", events)
    log = pa.table({"tau": ["p"] * 4, "ad": ["a", "b"] * 2, "click": [1, 0, 1, 0]})
    with pytest.raises(ws.UsageError, match="column of the log is called 'tau'"):
        supported("uniform", ws.read_events(log, context="tau", action="ad", reward="click"))
