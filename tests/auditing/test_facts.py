"""The facts of a log: every number against the plain-Python reference, on every engine."""

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import START, case, every_case, same

import warmstart as ws


@every_case
def test_the_facts_of_the_log_are_counts(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.log_facts(rows, scale)
    for count in ("events_per_context", "events_per_action"):
        same(getattr(audit.log, count), expected.pop(count))
    same(audit.log, expected)
    assert audit.log.duplicates >= 2
    assert audit.log.days == 9 - min(row[3] for row in rows)
    first, last = min(row[3:] for row in rows), max(row[3:] for row in rows)
    for shown, (day, second) in ((audit.log.first, first), (audit.log.last, last)):
        assert datetime.fromisoformat(shown) == START + timedelta(days=day, seconds=second)
    assert audit.reward_range == scale


def with_ids(*, repeats=1, events=600):
    """Contexts of a page and a request that differs in every event, or in every few."""
    pages = [f"p{i % 7}" for i in range(events)]
    requests = [f"r{i // repeats}" for i in range(events)]
    return pa.table(
        {"page": pages, "request": requests, "a": ["a", "b"] * (events // 2), "r": [0.0, 1.0] * (events // 2)}
    )


@pytest.mark.slow_on_spark
def test_a_column_that_differs_in_every_event_is_pointed_out_by_audit_and_evaluate(engine):
    events = ws.read_events(with_ids(), context=["page", "request"], action="a", reward="r", engine=engine)
    audit, found = ws.audit(events), ws.evaluate("constant:a", events, tau=0.1, estimators=["ips"])
    assert audit.log.unique_columns == ("request",)
    assert "without 'request' in the context" in audit.verdict[2]
    (remark,) = [one for one in found.remarks if one.code == "WS201"]
    assert "'request' differs in nearly every event" in remark.text
    assert "event_id" in remark.text
    assert str(remark) in audit.notes


@pytest.mark.parametrize(
    ("log", "context"),
    [
        (with_ids(), ["page"]),
        (with_ids(repeats=2), ["page", "request"]),
    ],
)
def test_nothing_is_said_of_columns_that_repeat(duckdb, log, context):
    events = ws.read_events(log, context=context, action="a", reward="r", engine=duckdb)
    assert ws.audit(events).log.unique_columns == ()
    assert not any(remark.code == "WS201" for remark in ws.evaluate("constant:a", events, tau=0.1).remarks)


def test_numbers_with_a_fraction_describe_contexts_unless_the_rest_would_repeat_without_them(duckdb):
    log = with_ids().append_column("x", pa.array([i / 7 for i in range(600)]))
    log = log.append_column("y", pa.array([i / 3 for i in range(600)]))
    for context, named in [(["x", "y"], ()), (["page", "x"], ("x",)), (["x", "request"], ("request",))]:
        events = ws.read_events(log, context=context, action="a", reward="r", engine=duckdb)
        assert ws.audit(events).log.unique_columns == named, context
