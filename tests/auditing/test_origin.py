"""Where choice came from: every number against the plain-Python reference, on every engine."""

import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import CLOSE, case, day_text, every_case, read, same

import warmstart as ws


@every_case
def test_the_origin_of_choice_is_told_by_pairs_of_events(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    expected = plain.origin(rows)
    days = [
        (day_text(day), contexts, pytest.approx(share, **CLOSE)) for day, contexts, share in expected["switch_days"]
    ]
    del expected["switch_days"]
    same(audit.origin, expected)
    assert [(day.day, day.contexts, day.switched) for day in audit.origin.switch_days] == days
    assert 0.1 < audit.origin.calendar < 0.95


@pytest.mark.slow_on_spark
def test_half_of_the_traffic_kept_is_no_switch(engine):
    """Shares of 14 events whose kept parts, 1/14 + 6/14, add up to a half: not less."""
    today = [*["a"] * 1, *["b"] * 6, *["c"] * 7]
    tomorrow = [*["a"] * 1, *["b"] * 6, *["d"] * 7]
    rows = [("x", a, 0.0, day, i) for day, shown in enumerate((today, tomorrow)) for i, a in enumerate(shown)]
    rows += [("y", a, 0.0, day, 0) for day, a in enumerate("ab")]
    audit = ws.audit(read(rows, engine))
    assert audit.origin.switches_per_context == 0.5
