"""Misses of bets on value and gain over drawn rewards, in worlds of many kinds, at delta .05 and .5.

Against the exact expectation given contexts and actions. Each end may miss half of delta; with 4.3 standard errors more
a right end fails in under 1 run of 100,000, and there are some hundred of them.
"""

from functools import partial

import numpy as np
import pytest
from tests.support import betting

from warmstart.estimators.intervals import bets_ends

DELTAS = [0.05, 0.5]
RATES = [0.02, 0.2, 0.5, 0.97]
KINDS = {
    "plain": {},
    "graded": {},
    "few events": {"events": 60, "contexts": 3},
    "skewed weights": {"even": 0.3, "tau": 0.01},
    "many contexts": {"contexts": 300, "actions": 2, "tau": 0.2},
}
SIDES = {
    "value": betting.value_misses,
    "gain": betting.gain_misses,
    "gain without training": partial(betting.gain_misses, known=False),
}


def check_levels(kind, side, rate, delta, *, seeds, draws):
    for seed in range(seeds):
        window = betting.window(seed, rate=rate, **KINDS[kind])
        rewards = window.draw(np.random.default_rng([seed, 1]), draws, graded=kind == "graded")
        rates = SIDES[side](window, rewards, delta).mean(axis=0)
        assert rates.max() <= delta / 2 + 4.3 * np.sqrt(delta / 2 * (1 - delta / 2) / draws), (seed, rates)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_end_misses_at_most_half_of_delta(kind, side, rate, delta):
    check_levels(kind, side, rate, delta, seeds=1, draws=500)


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_end_misses_at_most_half_of_delta_in_three_windows(kind, side, rate, delta):
    check_levels(kind, side, rate, delta, seeds=3, draws=3_000)


@pytest.mark.parametrize("side", SIDES)
def test_these_draws_would_show_a_bias_of_three_standard_deviations(side):
    """Bets that were planned right and tested for the wrong value miss more often than they may."""
    window = betting.window(0, rate=0.5)
    rewards = window.draw(np.random.default_rng(0), 500)
    weight, truth = (window.c, window.value) if side == "value" else (window.u, window.gain)
    off = 3 * np.sqrt((weight**2 * window.n * window.means * (1 - window.means)).sum()) / window.n.sum()
    assert (SIDES[side](window, rewards, 0.05, truth=truth - off).mean(axis=0) > 0.2).any()
    assert (SIDES[side](window, rewards, 0.05).mean(axis=0) < 0.02).all()


@pytest.mark.parametrize("rate", RATES)
def test_the_matrix_products_rule_out_what_the_ends_do(rate):
    for delta in DELTAS:
        window = betting.window(1, rate=rate)
        rewards = window.draw(np.random.default_rng(1), 1)
        lower, upper = bets_ends(betting.term_sums(window, rewards[0]), delta)
        for side, end, out in ((0, upper, 1e-7), (1, lower, -1e-7)):
            assert betting.value_misses(window, rewards, delta, truth=end + out)[0, side]
            assert not betting.value_misses(window, rewards, delta, truth=end - out)[0, side]
