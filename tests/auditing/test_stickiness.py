"""Whether actions stick to units: by pairs of events, in worlds where they do and where they do not."""

import pytest
from tests.support import units_reference as plain
from tests.support.audit_logs import same
from tests.support.unit_logs import read_units, unit_log

import warmstart as ws


def test_where_actions_are_drawn_anew_units_do_not_keep_them(duckdb):
    audit = ws.audit(read_units(unit_log(0, users=300, visits=10), duckdb))
    sticky = audit.units.stickiness
    assert sticky.excess == pytest.approx(0, abs=0.04)
    assert any("Actions do not stick to units" in note for note in audit.notes)


@pytest.mark.parametrize("keep", [0.5, 1.0])
def test_where_units_keep_an_action_their_pairs_show_it(duckdb, keep):
    """Two events show the user's own action both with keep^2, and are drawn alike else: the excess is keep^2."""
    sticky = ws.audit(read_units(unit_log(0, users=300, visits=10, keep=keep), duckdb)).units.stickiness
    assert sticky.excess == pytest.approx(keep**2, abs=0.06)
    assert sticky.chance == pytest.approx(1 / 3, abs=0.02)


def test_actions_that_differ_between_contexts_do_not_stick(duckdb):
    """One action in each context, the same for all: pairs of one unit are as alike as any."""
    rows = [(unit, x, f"of {x}", r) for unit, x, _, r in unit_log(0)]
    audit = ws.audit(read_units(rows, duckdb))
    assert (audit.units.stickiness.same, audit.units.stickiness.chance, audit.units.stickiness.excess) == (1, 1, 0)
    assert any("Actions do not stick" in note for note in audit.notes)


def test_a_heavy_unit_does_not_rule(duckdb):
    """A user who always sees a0 has a fifth of the events, and most of the pairs."""
    rows = unit_log(0, users=100, visits=8, pages=1)
    rows += [("heavy", "p0", "a0", 0.0)] * (len(rows) // 4)
    sticky = ws.audit(read_units(rows, duckdb)).units.stickiness
    same(sticky, plain.stickiness(rows))
    assert sticky.same < 0.6
