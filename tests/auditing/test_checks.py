"""The checks of assumptions: every number against the plain-Python reference, on every engine."""

from tests.support import audit_reference as plain
from tests.support.audit_logs import case, every_case, same


@every_case
def test_drift_and_reaction_are_sums_over_events(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    drift, reaction = audit.checks
    assert (drift.name, reaction.name) == ("drift", "reaction")
    same(drift, plain.drift_check(rows, scale))
    same(reaction, plain.reaction_check(rows, scale))
    assert None not in (drift.clustered_p, reaction.clustered_p)
