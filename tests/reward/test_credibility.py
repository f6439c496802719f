"""What ids remember, against what it should be."""

import numpy as np
import pytest

from warmstart.reward import Examples
from warmstart.reward.credibility import ACTION_HALF, CELL_HALF, CONTEXT_HALF, Credibility


def examples(contexts, actions, n, rewards):
    n, rewards = np.array(n, float), np.array(rewards, float)
    x = np.array(contexts)
    return Examples(x, np.array(actions), n, rewards, rewards, np.bincount(x, weights=n)[x])


def test_an_action_seen_much_earns_what_it_earned_and_one_seen_little_what_was_expected():
    seen = examples([0, 1, 0], [0, 0, 1], [1e6, 1e6, 1.0], [4e4, 4e4, 1.0])
    predictions = np.full(3, 0.02, dtype=np.float32)
    found = Credibility.learn(seen, predictions, 2, 2)
    expected = found.apply(seen, predictions)
    assert expected[0] == pytest.approx(0.04, rel=0.01)
    assert found.actions[1] < 1.2
    assert 0.02 < expected[2] < 0.1


def test_factors_solve_their_own_equations():
    rng = np.random.default_rng(0)
    x, a = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    n = rng.integers(50, 500, size=20).astype(float)
    s = rng.binomial(n.astype(int), 0.1).astype(float)
    seen = examples(x, a, n, s)
    predictions = rng.uniform(0.05, 0.2, size=20).astype(np.float32)
    found = Credibility.learn(seen, predictions, 5, 4)
    given = n * predictions * found.actions[a]
    totals = np.bincount(x, weights=s), np.bincount(x, weights=given)
    assert found.contexts == pytest.approx((totals[0] + CONTEXT_HALF) / (totals[1] + CONTEXT_HALF))
    cell = given * found.contexts[x]
    assert found.cells == pytest.approx((s + CELL_HALF) / (cell + CELL_HALF))
    assert ACTION_HALF > 0


def test_predictions_stay_between_nothing_and_one():
    seen = examples([0, 0], [0, 1], [3.0, 3.0], [3.0, 0.0])
    predictions = np.array([0.9, 0.0], dtype=np.float32)
    found = Credibility.learn(seen, predictions, 1, 2).apply(seen, predictions)
    assert (found > 0).all()
    assert (found <= 1).all()
