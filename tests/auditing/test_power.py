"""What gain a log could prove: every number against the plain-Python reference, on every engine."""

import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import CLOSE, case, every_case, same


@every_case
def test_power_is_that_of_a_policy_that_takes_a_supported_action(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.power(rows, audit.power.tau, scale)
    assert [(more.gain, more.times) for more in audit.power.more_log] == [
        (gain, pytest.approx(times, **CLOSE)) for gain, times in expected.pop("more_log")
    ]
    same(audit.power, expected)
    assert 0 < audit.power.contested < 1
    assert audit.power.smallest_gain > 0
