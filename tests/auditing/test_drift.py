"""Drift of contexts, and churn of actions: every number against the plain-Python reference, on every engine."""

import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import case, day_text, every_case, same


@every_case
def test_context_drift_is_a_chi_square_of_two_halves(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    expected = plain.context_drift(rows)
    assert audit.context_drift.cut == day_text(expected.pop("cut"))
    same(audit.context_drift, expected)
    assert audit.context_drift.unseen_before > 0


@every_case
def test_churn_and_weight_ratios_are_sums_over_events(name, engine):
    log, rows, _, audit, _ = case(name, engine)
    same(audit.churn, plain.churn(rows, log))
    assert 0 < audit.churn.actions_all_window < 1
    assert audit.churn.weight_ratio_train != pytest.approx(audit.churn.weight_ratio_all, rel=1e-3)
