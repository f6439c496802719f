"""Cell means that borrow: an event's own fold has no say in its score."""

import numpy as np

from warmstart.reward import learn_by_cell


def test_rewards_of_a_fold_do_not_change_its_own_scores():
    rng = np.random.default_rng(0)
    contexts, actions, folds = (rng.integers(k, size=400) for k in (6, 4, 5))
    n = rng.integers(1, 9, 400).astype(float)
    rewards = rng.binomial(n.astype(int), 0.4).astype(float)
    changed = np.where(folds == 2, n, rewards)
    one, other = (learn_by_cell(contexts, actions, folds, n, some) for some in (rewards, changed))
    own = np.flatnonzero(folds == 2)
    asked = (contexts[own], actions[own])
    for fold, alike in ((2, True), (1, False)):
        scores = [model._scores(*asked, np.full(len(own), fold), 10.0) for model in (one, other)]
        assert np.allclose(*scores, atol=1e-12) == alike
