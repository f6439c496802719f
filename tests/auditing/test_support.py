"""Where a log supports choice: every number against the plain-Python reference, on every engine."""

import numpy as np
import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import CLOSE, case, every_case, same

import warmstart as ws


@every_case
def test_traffic_is_told_by_the_number_of_actions_of_its_context(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    found = [(row.actions, row.contexts, row.traffic) for row in audit.exploration.by_actions]
    assert [row[:2] for row in found] == [row[:2] for row in plain.by_actions(rows)]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in plain.by_actions(rows)], **CLOSE)
    assert audit.exploration.effective_actions == pytest.approx(plain.effective_actions(rows), **CLOSE)


@every_case
def test_support_at_every_tau_is_that_of_the_daily_uniform_policy(name, engine):
    log, rows, _, audit, _ = case(name, engine)
    h = plain.uniform(rows, log, live=True)
    assert h != pytest.approx(plain.uniform(rows, log, live=False))
    found = [(at.tau, at.uniform, at.choice, at.error) for at in audit.exploration.support]
    expected = plain.support(rows, h, sorted({*plain.TAUS, audit.power.tau}))
    assert np.array(found) == pytest.approx(np.array(expected), **CLOSE)
    assert audit.exploration.live


@every_case
def test_the_tau_to_begin_with_is_the_one_that_evaluate_chooses_for_uniform(name, engine):
    *_, audit, events = case(name, engine)
    assert audit.power.tau == ws.evaluate("uniform", events, estimators=["ips"])["uniform"].tau


@every_case
def test_even_shares_are_rejected_where_a_chi_square_table_says_so(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    contexts, rejected = plain.even_shares(rows)
    assert 0 < rejected < 1
    same(audit.exploration.even, {"contexts": contexts, "rejected": rejected})
