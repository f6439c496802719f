"""Gamma frailty: the mean over users is what was asked for, also where chances reach 1."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from warmstart.simulation.frailty import Frailty

MEANS = np.array([1e-4, 0.02, 0.05, 0.3, 0.6, 0.9])
SHAPES = [1.0, 0.25, 0.1]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_over_users_is_exact_by_quadrature(shape):
    """E min(1, c * G) = integral of P(G > t / c) over t in (0, 1): neither gamma function of the closed form."""
    for mean, base in zip(MEANS, Frailty(shape).base_chances(MEANS), strict=True):
        # With t = s^20, so that the integrand is smooth where the gamma distribution has most of its users, at 0.
        integral, _ = quad(
            lambda s, c=base: gamma.sf(s**20 / c, shape, scale=1 / shape) * 20 * s**19, 0, 1, epsabs=1e-12, limit=500
        )
        assert integral == pytest.approx(mean, rel=2e-6)


def test_a_base_chance_is_the_mean_where_nobody_reaches_one_and_larger_where_some_do():
    assert Frailty(1.0).base_chances(np.array([0.02])) == pytest.approx([0.02], rel=1e-6)
    assert Frailty(0.1).base_chances(np.array([0.3]))[0] > 1.5


@pytest.mark.parametrize("shape", SHAPES)
def test_drawn_users_have_the_mean_and_the_spread(shape):
    """5 standard errors of 400 k users; the factor's own standard deviation is 1 / sqrt(shape)."""
    frailty = Frailty(shape)
    factors = frailty.factors(400_000, np.random.default_rng(2))
    assert factors.mean() == pytest.approx(1, abs=5 / np.sqrt(shape * len(factors)))
    assert factors.var() == pytest.approx(1 / shape, rel=0.1)
    for mean in (0.02, 0.6):
        chances = frailty.chances(np.full(len(factors), mean), factors)
        assert 0 <= chances.min() <= chances.max() <= 1
        assert chances.mean() == pytest.approx(mean, abs=5 * chances.std() / np.sqrt(len(factors)))


def test_certain_rewards_stay_certain():
    chances = Frailty(0.1).chances(np.array([0.0, 0.0, 1.0, 1.0]), np.array([1e-30, 30.0, 1e-30, 30.0]))
    assert chances.tolist() == [0, 0, 1, 1]
