"""The facts of a log: every number against the plain-Python reference, on every engine."""

from datetime import datetime, timedelta

from tests.support import audit_reference as plain
from tests.support.audit_logs import START, case, every_case, same


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
