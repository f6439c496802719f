"""The Naive row of the paper's table: no reward in 8,373 events at tau = .05, delta = .05 on each side."""

import math

import pytest

from warmstart.estimators.intervals import TermSums, interval

NO_REWARD = TermSums(8373, 0.0, 0.0, range_total=8373 * 20.0, range_square_total=0.0, largest=20.0, bound=20.0)


def test_no_reward_in_8373_events_gives_the_printed_upper_end():
    found = interval(NO_REWARD, delta=0.10, method="kl")
    assert found.lower == 0
    assert found.upper == pytest.approx(0.00715, abs=5e-6)
    assert math.floor(found.upper * 1e4) / 1e4 == 0.0071


def test_delta_per_side_is_what_the_paper_used():
    """With delta split over the sides the end would be printed as .0088: so the table's delta is per side."""
    assert interval(NO_REWARD, delta=0.05, method="kl").upper == pytest.approx(0.00881, abs=5e-6)


def test_the_other_rows_are_lopsided_where_the_bound_is_not():
    """Learned at tau = .01: printed -.0006 and +.0013; the bound with 19 M events and delta per side is nearly even."""
    events, value, tau = 19e6, 0.0193, 0.01
    terms = TermSums(events, value * events, 0.0, events / tau, 0.0, largest=1 / tau, bound=1 / tau)
    found = interval(terms, delta=0.10, method="kl")
    assert value - found.lower == pytest.approx(0.0008, abs=5e-5)
    assert found.upper - value == pytest.approx(0.0008, abs=5e-5)
