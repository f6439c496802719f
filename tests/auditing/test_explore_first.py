"""Which contexts to explore first: every number against the plain-Python reference, on every engine."""

import numpy as np
import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import CLOSE, case, every_case, same


@every_case
def test_the_busiest_contexts_of_one_action_are_to_be_explored_first(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.explore(rows, scale)
    assert [row[:-2] for row in audit.explore.rows] == [row[:-2] for row in expected["rows"]]
    numbers = [np.array([row[-2:] for row in found]) for found in (audit.explore.rows, expected["rows"])]
    assert numbers[0] == pytest.approx(numbers[1], **CLOSE)
    assert [(plan.share, plan.events, plan.smallest_gain) for plan in audit.explore.experiments] == [
        (share, events, pytest.approx(gain, **CLOSE)) for share, events, gain in expected["experiments"]
    ]
    same(audit.explore, {"contexts": expected["contexts"], "traffic": expected["traffic"]})
    assert audit.explore.contexts >= 3
    assert audit.explore.to_arrow().num_rows == audit.explore.contexts
    assert audit.explore.columns[-4:] == ("action", "events", "traffic", "reward")
