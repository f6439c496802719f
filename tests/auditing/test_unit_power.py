"""What bets by unit need: as much as bets by event where units come once, more where a few come often."""

import numpy as np
import pytest
from tests.support import units_reference as plain
from tests.support.audit_reference import bets

from warmstart.auditing.unit_power import TypicalUnits, needed_gain

RATE = 0.2


def typical(visits, *, together=0.0):
    """Units with so many events each; their rewards go ``together`` by an intraclass correlation."""
    visits = np.asarray(visits, dtype=float)
    independent, dependent = visits.sum(), (visits**2).sum()
    variance = RATE * (1 - RATE) * (independent + together * (dependent - independent))
    return TypicalUnits(visits, visits / 2, np.ones_like(visits), variance, independent, dependent, RATE)


def deviations(units):
    return needed_gain(units) / units.variance**0.5


@pytest.mark.parametrize(
    "units", [typical(np.ones(3000)), typical(1 + np.arange(400) % 30), typical(np.full(50, 100), together=0.1)]
)
def test_the_gain_is_the_one_at_which_the_average_of_all_bets_wins_enough(units):
    size, expected, _, variance, independent, dependent, mean = units
    assert needed_gain(units) == pytest.approx(plain.bets_need(size, expected, variance, dependent, independent, mean))


def test_units_that_come_once_need_what_events_need():
    assert deviations(typical(np.ones(3000))) == pytest.approx(bets(RATE), rel=0.05)


def test_a_few_units_with_most_of_the_events_make_a_gain_hard_to_prove():
    """6,000 events of 3,000 units, and of 60: in these, bets must be small."""
    even, heavy = typical(np.full(3000, 2.0)), typical(np.full(60, 100.0))
    assert deviations(heavy) > 2 * deviations(even)


def test_copies_of_units_in_one_bin_are_units():
    one, many = typical(np.full(200, 5.0)), typical([5.0])._replace(units=np.array([200.0]))
    many = many._replace(variance=one.variance, independent=one.independent, dependent=one.dependent)
    assert needed_gain(many) == pytest.approx(needed_gain(one))
