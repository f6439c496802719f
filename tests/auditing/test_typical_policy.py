"""The gain of typical policies by unit and by event, against the plain-Python reference."""

from contextlib import ExitStack

import pytest
from tests.support import units_reference as plain
from tests.support.audit_logs import CLOSE
from tests.support.audit_reference import bets
from tests.support.unit_logs import read_units, unit_log

import warmstart as ws
from warmstart.auditing import unit_gain
from warmstart.events import open_cells, unit_visits


def of_log(rows, engine, tau):
    with open_cells(read_units(rows, engine)) as cells, ExitStack() as resources:
        return unit_gain(cells, unit_visits(cells, None, resources), tau=tau)


@pytest.mark.parametrize("tau", [0.2, *(pytest.param(tau, marks=pytest.mark.slow_on_spark) for tau in (0.01, 0.3))])
def test_the_design_effect_of_a_gain_is_a_ratio_of_sums_over_units_and_events(engine, tau):
    """A tau that leaves out some actions, and some contexts."""
    rows = unit_log(1, keep=0.6, alike=0.5, graded=True, ads=4)
    found = of_log(rows, engine, tau)
    assert found.design_effect == pytest.approx(max(plain.design_effects(rows, tau).values()), **CLOSE)
    assert found.deviations == pytest.approx(plain.deviations(rows, tau), rel=0.02)


def test_it_is_large_only_where_actions_stick_and_rewards_go_together(duckdb):
    """Of 400 users; a policy's u changes sign within a user whose actions are drawn anew, and rewards average out."""
    effects = {
        (keep, alike): of_log(unit_log(2, users=400, keep=keep, alike=alike), duckdb, 0.05)
        for keep in (0.0, 1.0)
        for alike in (0.0, 1.0)
    }
    assert effects[1.0, 1.0].design_effect > 2
    for world in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]:
        assert effects[world].design_effect == pytest.approx(1, abs=0.35), world


def test_users_who_keep_an_action_everywhere_matter_for_the_same_action_everywhere(duckdb):
    """Over many pages a policy by the page is for a user as often as against; the same ad everywhere is not."""
    rows = unit_log(3, users=400, keep=1.0, alike=1.0, pages=20, rare=False)
    assert of_log(rows, duckdb, 0.05).design_effect > 2


def test_where_nothing_is_contested_there_is_no_gain(duckdb):
    assert of_log([(unit, x, "a", r) for unit, x, _, r in unit_log(1)], duckdb, 0.05) is None


def test_power_is_by_unit(duckdb):
    """The variance times the design effect, and the deviations that bets by unit need; sizes are in bins of 10 %."""
    rows = unit_log(4, users=400, keep=1.0, alike=1.0)
    audit, by_event = (ws.audit(read_units(rows, duckdb, unit=unit)) for unit in ("user", ()))
    tau = audit.power.tau
    assert by_event.power.tau == tau
    mean = sum(r for *_, r in rows) / len(rows)
    wider = audit.power.sampling / by_event.power.sampling
    effect = max(plain.design_effects(rows, tau).values())
    assert wider == pytest.approx(effect**0.5 * plain.deviations(rows, tau) / bets(mean), rel=0.02)
    assert audit.power.smallest_gain > by_event.power.smallest_gain
    assert audit.power.contested == by_event.power.contested
