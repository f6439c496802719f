"""The weights of imitator, pooled model and exploration."""

import numpy as np
import pytest

from warmstart.propensity.imitators import mixing_weights


def test_the_shares_of_known_densities_are_found():
    rng = np.random.default_rng(0)
    drawn = rng.choice(3, p=[0.7, 0.2, 0.1], size=20_000)
    densities = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    seen = (densities[drawn].cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    found = mixing_weights(densities.T[seen], np.ones(20_000), np.full(3, 1 / 3))
    assert found == pytest.approx([0.7, 0.2, 0.1], abs=0.03)
    assert found.sum() == pytest.approx(1)


def test_few_events_leave_the_prior_as_it_is():
    prior = np.array([9.0, 0.5, 0.5])
    found = mixing_weights(np.array([[0.0, 1.0, 0.0]]), np.ones(1), prior)
    assert found == pytest.approx([9 / 11, 1.5 / 11, 0.5 / 11], abs=1e-3)


def test_an_event_that_no_part_explains_moves_nothing():
    prior = np.array([1.0, 1.0, 2.0])
    assert mixing_weights(np.zeros((3, 3)), np.ones(3), prior) == pytest.approx(prior / 4)
