"""What an audit says of units: every number against the plain-Python reference, on every engine."""

import pytest
from tests.support import units_reference as plain
from tests.support.audit_logs import CLOSE, same
from tests.support.unit_logs import NAMES, read_units, unit_log, unit_table

import warmstart as ws
from warmstart.events import visits

GRADED = {"users": 40, "keep": 0.5, "alike": 1.0, "graded": True}


@pytest.mark.parametrize("scale", [pytest.param((0, 1), marks=pytest.mark.slow_on_spark), (-1, 3)])
def test_units_are_described_event_by_event(engine, scale):
    rows = unit_log(1, **GRADED)
    audit = ws.audit(read_units(rows, engine, scale=scale))
    units = audit.units
    assert units.columns == ("user",)
    assert units.units == len({row[0] for row in rows})
    same(units.events_per_unit, plain.events_per_unit(rows))
    assert units.largest == pytest.approx(units.events_per_unit.most / len(rows))
    effect = plain.design_effect(rows)
    same(units, {"design_effect": effect, "independent_events": len(rows) / effect})
    same(units.stickiness, plain.stickiness(rows))
    same(units.visits, plain.visits_test(rows, scale))
    effects = plain.design_effects(rows, audit.power.tau)
    assert units.gain_design_effect == pytest.approx(max(effects.values()), **CLOSE)


def test_rewards_that_go_together_make_a_log_worth_less(duckdb):
    """Of 300 users; where nothing goes together the design effect is within four standard errors of 1."""
    alone = ws.audit(read_units(unit_log(2, users=300, rare=False), duckdb)).units
    together = ws.audit(read_units(unit_log(2, users=300, alike=1.0, rare=False), duckdb)).units
    assert alone.design_effect == pytest.approx(1, abs=0.35)
    assert together.design_effect > 2
    assert together.independent_events < together.units * together.events_per_unit.median / 1.5


def test_units_that_come_once_are_events(duckdb):
    rows = [(f"u{i}", *row[1:]) for i, row in enumerate(unit_log(3))]
    audit = ws.audit(read_units(rows, duckdb))
    assert audit.units.design_effect == pytest.approx(1)
    assert audit.units.gain_design_effect == pytest.approx(1)
    assert audit.units.stickiness is None
    assert audit.units.visits.effect is None
    by_event = ws.audit(ws.read_events(unit_table(rows), **NAMES))
    assert audit.power.smallest_gain == pytest.approx(by_event.power.smallest_gain, rel=0.1)
    assert audit.power.smallest_gain >= by_event.power.smallest_gain
    assert sum("cannot be told" in note for note in audit.notes) == 2


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_rewards_that_never_differ_have_no_design_effect(duckdb, reward):
    units = ws.audit(read_units([(*row[:3], reward) for row in unit_log(4)], duckdb)).units
    assert (units.design_effect, units.independent_events, units.gain_design_effect) == (None, None, None)
    assert units.visits.p_value is None


def test_one_unit_has_no_design_effect(duckdb):
    audit = ws.audit(read_units([("u", *row[1:]) for row in unit_log(4)], duckdb))
    assert (audit.units.units, audit.units.largest, audit.units.design_effect) == (1, 1, None)
    assert "by unit cannot be told" in " ".join(audit.notes)


def test_a_unit_may_have_several_columns_and_be_a_context(duckdb):
    rows = unit_log(5)
    log = unit_table(rows).append_column("half", [[i % 2 for i in range(len(rows))]])
    several = ws.audit(ws.read_events(log, **NAMES, unit=["user", "half"], engine=duckdb)).units
    assert several.columns == ("user", "half")
    assert several.units == len({(row[0], i % 2) for i, row in enumerate(rows)})
    own = ws.audit(ws.read_events(log, **{**NAMES, "context": ["user", "page"]}, unit="user", engine=duckdb)).units
    assert own.units == len({row[0] for row in rows})
    assert own.stickiness is None


def test_of_many_units_a_sample_tells_of_actions_and_visits(duckdb, monkeypatch):
    rows = unit_log(6, users=120, keep=0.8)
    everybody = ws.audit(read_units(rows, duckdb)).units
    monkeypatch.setattr(visits, "ENOUGH_EVENTS", 400)
    monkeypatch.setattr(visits, "ENOUGH_UNITS", 10)
    some = ws.audit(read_units(rows, duckdb)).units
    assert some.design_effect == everybody.design_effect
    assert some.stickiness.events < 0.6 * everybody.stickiness.events
    assert some.stickiness.same == pytest.approx(everybody.stickiness.same, abs=0.15)


def test_tables_notes_json_and_the_page_tell_of_units(tmp_path):
    audit = ws.audit(read_units(unit_log(7, users=200, keep=0.9, alike=1.0, slope=-0.3, rate=0.5)))
    assert "Units: user" in str(audit)
    notes = " ".join(audit.notes)
    assert f"the log is worth as much as {audit.units.independent_events:,.0f} independent events" in notes
    assert "Actions stick to units" in notes
    assert audit.to_dict()["units"]["visits"]["p_value"] == audit.units.visits.p_value
    ws.save_report(audit, tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "events of the largest" in page
    assert "rewards of a unit go together" in page


def test_without_a_unit_nothing_is_said_of_units():
    audit = ws.audit(ws.read_events(unit_table(unit_log(7)), **NAMES))
    assert audit.units is None
    assert "Units:" not in str(audit)
    assert audit.to_dict()["units"] is None
