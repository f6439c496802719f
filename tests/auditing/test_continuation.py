"""The log to come, on arrays: counts, more events, thin contexts."""

import numpy as np
import pytest
from tests.support.plan_worlds import World, planned

from warmstart.auditing.continuation import ChosenCells, Continuation, UnitVisits, _counts
from warmstart.auditing.power import needed_deviations


def one_context(events=10_000.0, propensity=0.5, *, explored=False, expected=0.2):
    ones = np.ones(1)
    parts = {"number": ones, "probability": ones, "decided": ones, "events": events * ones}
    parts |= {
        "propensity": propensity * ones,
        "favoured": propensity * ones,
        "rest": (1 - propensity) * ones,
        "expected": expected * ones,
    }
    return ChosenCells(**parts, explored=np.array([explored]))


@pytest.mark.parametrize("mean", [0.3, 3.0, 40.0, 300.0])
@pytest.mark.parametrize("fewest", [1.0, 5.0])
def test_counts_are_those_of_many_draws(mean, fewest):
    k = np.random.default_rng(0).poisson(mean, size=400_000)
    enough = k >= fewest
    drawn = enough.mean(), (k * enough).mean(), np.divide(enough, k, where=k > 0, out=np.zeros(len(k))).mean()
    exact = [part[0] for part in _counts(np.array([mean]), np.array([fewest]))]
    assert exact == pytest.approx(drawn, rel=0.02, abs=2e-4)


def test_without_a_training_window_a_plan_agrees_with_the_deviations_that_audits_reckon_with():
    """The gain at the planned length is needed_deviations + 0.84 standard deviations, to 2 %."""
    lift = 0.01
    plan = Continuation(one_context(), 0.0, 0.05, lift, known=False)
    n = plan.times(0.8, 0.05) * 10_000
    rest, taken = 0.2 - lift / 2, 0.2 + lift / 2
    deviation = np.sqrt(n / 2 * (rest * (1 - rest) + taken * (1 - taken)))
    assert n / 2 * lift / deviation == pytest.approx(needed_deviations(0.2) + 0.84, rel=0.02)


def test_a_training_window_spares_events_and_more_power_costs_some():
    known, unknown = (Continuation(one_context(), 0.0, 0.05, 0.02, known=known) for known in (True, False))
    assert known.times(0.8, 0.05) < 0.8 * unknown.times(0.8, 0.05)
    assert known.times(0.8, 0.05) < known.times(0.9, 0.05) < known.times(0.9, 0.01)
    assert known.chance(known.times(0.8, 0.05), 0.05) == pytest.approx(0.8, abs=0.01)


def test_a_larger_share_decides_sooner_and_explores_about_as_many_events():
    cells = one_context(propensity=0.0, explored=True)
    times = {share: Continuation(cells, share, share / 2, 0.05).times(0.8, 0.05) for share in (0.02, 0.1)}
    assert times[0.1] < times[0.02] / 4
    assert 0.1 * times[0.1] == pytest.approx(0.02 * times[0.02], rel=0.15)


def test_what_is_never_shown_is_never_proven():
    assert Continuation(one_context(propensity=0.0), 0.0, 0.05, 0.05).times(0.8, 0.05) is None


def test_the_sums_are_those_of_drawn_logs():
    world = World(0.5, 20_000, 100, gain=0.1, unsupported=1.0)
    plan, _, expected, explored = planned(world, share=0.05)
    from tests.support.plan_worlds import gain_sums

    sums = []
    for i in range(200):
        rng = np.random.default_rng(i)
        n = world.shown(rng, world.events, explored=explored, share=0.05).sum(axis=0)
        sums.append(gain_sums(n, world.rewards(rng, n), plan.tau, expected))
    mean = plan.sums(1.0)
    assert mean.variance == pytest.approx(np.mean([one.variance for one in sums]), rel=0.03)
    gains = [(one.by_u.values * one.by_u.rewards).sum() for one in sums]
    gain = (mean.by_u.values * mean.by_u.rewards).sum()
    assert gain == pytest.approx(np.mean(gains), abs=4 * np.std(gains) / np.sqrt(200))


def test_units_that_come_often_or_stick_to_actions_cost_events():
    def times(visits, **about):
        units = UnitVisits(np.array([visits]), np.array([10_000 / visits]), 0.1, **about)
        return Continuation(one_context(), 0.0, 0.05, 0.03, known=False, visits=units).times(0.8, 0.05)

    assert times(1.0) < times(10.0) < times(100.0)
    assert times(10.0) < times(10.0, together=5.0)
    assert UnitVisits(np.ones(1), np.ones(1), 0.1, 5.0).spread_over(0.25).together == 2.0


def test_where_actions_stick_to_units_they_are_drawn_so():
    """The heaviest bets are planned for units that are shown one action only."""
    units = UnitVisits(np.array([10.0]), np.array([1_000.0]), 0.1, together=5.0)
    plan = Continuation(one_context(), 0.0, 0.05, 0.03, known=False, visits=units)
    typical, net = plan._units(plan.sums(1.0), 1.0)
    assert (typical.units * net**2).sum() == pytest.approx(5.0 * typical.independent, rel=0.1)
    assert UnitVisits(np.array([10.0]), np.ones(1), 0.1, together=1.04).kept == 0.0
