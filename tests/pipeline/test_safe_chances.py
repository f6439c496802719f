"""Simulated logs: rewards vary as much as those of the log that they are like."""

import numpy as np
import pytest

from warmstart.estimators import CellSums
from warmstart.pipeline.safe_chances import _drawn, _several
from warmstart.reward import Examples, learn_estimated


def known_of(rewards):
    """What is known of one context with two actions that were shown alike."""
    half = len(rewards) // 2
    parts = rewards[:half], rewards[half:]
    sums, squares = (np.array([(part**power).sum() for part in parts]) for power in (1, 2))
    numbers = np.zeros(2, int), np.arange(2), np.full(2, float(half))
    examples = Examples(*numbers, sums, squares, np.full(2, 2.0 * half))
    return learn_estimated(examples, np.full(2, rewards.mean()), 1, 2), CellSums(*numbers, sums)


@pytest.mark.parametrize("kind", ["0 and 1", "continuous", "constant"])
def test_rewards_are_drawn_with_the_spread_of_the_log(kind):
    rng = np.random.default_rng(0)
    rewards = {
        "0 and 1": rng.random(4_000) < 0.3,
        "continuous": rng.uniform(0.2, 0.4, 4_000),
        "constant": np.full(4_000, 0.3),
    }
    given = rewards[kind].astype(float)
    known, cells = known_of(given)
    sums = np.array([_drawn(cells, np.full(2, given.mean()), _several(known), rng).rewards for _ in range(2_000)])
    assert sums.mean() == pytest.approx(2_000 * given.mean(), rel=0.01)
    # The variance of a mean of few is known less well; what is nearly none is drawn as nearly none.
    assert sums.var() / 2_000 == pytest.approx(given.var(), rel=0.1, abs=1e-5)
    assert (_several(known) == 1) == (kind == "0 and 1")
