"""Trials on held-out events: they find how far cells differ, and their sums are what they say."""

import numpy as np
import pytest
from tests.support.reward_cells import cells, learner

from warmstart.reward import Examples, Halves
from warmstart.reward.trial import Losses, try_out


def world(spread, seed=0, contexts=400, actions=6, n=60):
    """A log in two halves; the factors of cells have this spread, those of actions and contexts none."""
    x, a = np.repeat(np.arange(contexts), actions), np.tile(np.arange(actions), contexts)
    means = np.minimum(0.1 * np.exp(np.random.default_rng(9).normal(0, spread, len(x))), 0.9)
    return cells(x, a, means, n, seed), cells(x, a, means, n, seed + 1)


def test_cells_that_differ_are_believed_and_cells_that_do_not_are_shrunk_to_their_actions():
    far, near = (try_out(learner(400, 6), [world(spread)], 1.0).halves for spread in (1.0, 0.0))
    assert far.cell <= 4
    assert near.cell >= 60


def test_where_nothing_is_clearly_better_the_usual_ones_stay():
    x, a = np.array([0, 1]), np.array([0, 1])
    assert try_out(learner(2, 2), [(cells(x, a, 0.3, 5), cells(x, a, 0.3, 5, 1))], 1.0).halves == Halves()


def test_the_value_is_that_of_the_greedy_policy_and_the_loss_that_of_its_expectations():
    earlier = Examples(*map(np.array, ([0, 0], [0, 1], [50.0, 50.0], [5.0, 40.0], [5.0, 40.0], [100.0, 100.0])))
    later = Examples(*map(np.array, ([0, 0], [0, 1], [30.0, 10.0], [3.0, 7.0], [3.0, 7.0], [40.0, 40.0])))
    trial = try_out(learner(1, 2), [(earlier, later)], 1.0)
    # The second action has a share of 1/4: its seven rewards count four times, of 40 events.
    assert trial.value([later]) == pytest.approx(7 * 4 / 40)
    p = trial.learned.scores
    loss = -(3 * np.log(p[0]) + 27 * np.log(1 - p[0]) + 7 * np.log(p[1]) + 3 * np.log(1 - p[1])) / 40
    assert trial.loss([later]) == pytest.approx(loss)
    assert trial.value_spread(trial, [later]) == 0


def test_several_divisions_count_as_many_events():
    earlier, later = world(0.5, contexts=50)
    one, two = (try_out(learner(50, 6), [(earlier, later)] * times, 1.0) for times in (1, 2))
    assert two.value([later] * 2) == pytest.approx(one.value([later]))
    assert two.loss([later] * 2) == pytest.approx(one.loss([later]))


def test_losses_of_certain_predictions_stay_finite():
    _, later = world(0.0, contexts=5)
    assert np.isfinite(Losses.of(np.tile([0.0, 1.0], 15), later).sum(later))
