"""Whether rewards go with visits: a test by unit, in worlds where they do and where they do not."""

import re
from collections import Counter

import pytest
from tests.support import units_reference as plain
from tests.support.audit_logs import same
from tests.support.unit_logs import read_units, unit_log

import warmstart as ws


def visits_note(audit):
    (note,) = [note for note in audit.notes if "that come more often" in note]
    return note


@pytest.mark.parametrize("world", [{}, {"alike": 1.0}, {"keep": 0.9, "pages": 30}], ids=str)
def test_where_visits_do_not_matter_nothing_is_found(duckdb, world):
    """Seeds for which chance does not fire: it does in one log of a hundred."""
    rows = unit_log(3, users=200, **world)
    audit = ws.audit(read_units(rows, duckdb))
    same(audit.units.visits, plain.visits_test(rows))
    assert not audit.units.visits.fires
    assert "sign of it" in visits_note(audit)
    assert "bounds by unit may not hold" not in audit.verdict[1]


@pytest.mark.parametrize(("slope", "scale"), [(-0.25, (0, 1)), (0.25, (0, 10))])
def test_where_frequent_units_earn_less_or_more_it_is_found_with_its_size(duckdb, slope, scale):
    """Rewards of .3 that change by a quarter for twice as many visits; within four standard errors."""
    audit = ws.audit(read_units(unit_log(3, users=600, slope=slope, ads=1), duckdb, scale=scale))
    check = audit.units.visits
    assert check.fires
    error = (check.upper - check.lower) / 3.92
    assert check.effect == pytest.approx(0.3 * slope * scale[1], abs=4 * error)
    assert error < 0.02 * scale[1]
    note = visits_note(audit)
    said = re.search(r"a reward that is (lower|higher) by ([\d,.]+) per (1,000 events|event)", note)
    assert said[1] == ("lower" if slope < 0 else "higher")
    times = 1_000 if said[3] == "1,000 events" else 1
    assert float(said[2].replace(",", "")) == pytest.approx(times * abs(check.effect), rel=0.01)
    assert 'per="unit" (--per unit)' in note
    assert "a band of visits, known before the window" in note
    assert "bounds by unit may not hold" in audit.verdict[1]


def test_rewards_are_compared_within_cells_only(duckdb):
    """Frequent users come to a page that pays more: rewards go with visits, but not within a cell."""
    rows = unit_log(4, users=300, rare=False, pages=1)
    often = {unit for unit, visits in Counter(row[0] for row in rows).items() if visits > 9}
    rows = [
        (unit, "rich" if unit in often else "poor", a, float(i % 2 if unit in often else i % 10 == 0))
        for i, (unit, _, a, _) in enumerate(rows)
    ]
    check = ws.audit(read_units(rows, duckdb)).units.visits
    same(check, plain.visits_test(rows))
    assert not check.fires
    together = [(unit, "page", a, r) for unit, _, a, r in rows]
    assert ws.audit(read_units(together, duckdb)).units.visits.fires


def test_units_of_equal_visits_tell_nothing(duckdb):
    rows = [(f"u{i // 6}", *row[1:]) for i, row in enumerate(unit_log(4)[:240])]
    audit = ws.audit(read_units(rows, duckdb))
    assert (audit.units.visits.effect, audit.units.visits.p_value) == (None, None)
    assert any("how often a unit comes cannot be told" in note for note in audit.notes)
