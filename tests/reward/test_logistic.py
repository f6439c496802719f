"""One logistic regression an action: it finds the truth, agrees with scikit-learn, and knows its limits."""

import numpy as np
import pytest
from tests.support.reward_cells import BITS, cells, features

import warmstart as ws
from warmstart.features import FeatureRows
from warmstart.reward import logistic
from warmstart.reward.logistic import MOST_ACTIONS, learn_logistic
from warmstart.scoring import LogisticModel


def chance(odds):
    return 1 / (1 + np.exp(-odds))


def numbers(seed, size):
    rng = np.random.default_rng(seed)
    return rng.normal(size=size), rng.choice(["red", "green"], size=size)


def test_it_finds_the_chances_that_rewards_were_drawn_with():
    z, color = numbers(0, 1_500)
    x, _ = features(BITS[0], z=z, color=list(color))
    a = FeatureRows.of(np.arange(3), np.arange(3), np.ones(3), 3)
    contexts, actions = np.repeat(np.arange(1_500), 3), np.tile(np.arange(3), 1_500)
    slope, shift = np.array([1.5, -1.0, 0.0]), np.array([0.0, 1.0, -1.0])
    truth = chance(slope[actions] * z[contexts] + shift[actions] * (color[contexts] == "red"))
    learned = learn_logistic(cells(contexts, actions, truth, 1), 1.0, x, a)
    assert np.abs(learned.predict(contexts, actions, x, a) - truth).mean() < 0.05
    assert np.array_equal(
        learned.coefficients, learn_logistic(cells(contexts, actions, truth, 1), 1.0, x, a).coefficients
    )


def test_many_events_of_a_cell_are_as_many_cells_of_one_event():
    z, _ = numbers(1, 50)
    x, _ = features(BITS[0], z=z)
    a = FeatureRows.of(np.arange(1), np.zeros(1, int), np.ones(1), 1)
    whole = cells(np.arange(50), np.zeros(50, int), chance(z), 40)
    won = whole.reward_sum.astype(int)
    contexts = np.repeat(np.arange(50), 40)
    from sklearn.linear_model import LogisticRegression

    matrix = x.values.reshape(50, 2)
    y = np.concatenate([np.repeat([1, 0], [one, 40 - one]) for one in won])
    theirs = LogisticRegression(C=learn_logistic.__globals__["C"], max_iter=300).fit(matrix[contexts], y)
    ours = learn_logistic(whole, 1.0, x, a).predict(np.arange(50), np.zeros(50, int), x, a)
    assert ours == pytest.approx(theirs.predict_proba(matrix)[:, 1], abs=2e-3)


def test_an_action_that_never_or_always_earned_has_a_shrunk_rate():
    x, _ = features(BITS[0], z=np.linspace(-1, 1, 8))
    a = FeatureRows.of(np.arange(3), np.arange(3), np.ones(3), 3)
    seen = cells(np.tile(np.arange(4), 2), np.repeat([0, 1], 4), np.repeat([0.0, 1.0], 4), 1)
    learned = learn_logistic(seen, 1.0, x, a)
    never, always, unseen = learned.predict(np.zeros(3, int), np.arange(3), x, a)
    assert never == pytest.approx(1 / 6)
    assert always == pytest.approx(5 / 6)
    assert unseen == pytest.approx(0.5)


def test_features_that_training_never_saw_count_nothing():
    learned = LogisticModel(np.array([3, 5], np.uint32), np.array([[1.0, -2.0]], np.float32), np.zeros(1, np.float32))
    rows = FeatureRows.of(np.array([0, 0, 1, 2]), np.array([3, 4, 5, 9]), np.ones(4), 3)
    asked = learned.predict(np.arange(3), np.zeros(3, int), rows, rows)
    assert asked == pytest.approx(chance(np.array([1.0, -2.0, 0.0])))


def test_too_many_actions_are_refused():
    rows = FeatureRows.of(np.zeros(0, int), np.zeros(0, int), np.zeros(0), MOST_ACTIONS + 1)
    with pytest.raises(ws.UsageError, match="One regression for each of 1,001 actions"):
        learn_logistic(cells([0], [0], 0.5, 1), 1.0, rows, rows)


def test_the_penalty_is_weaker_where_features_decide():
    rng = np.random.default_rng(2)
    x, _ = features(BITS[0], z=(z := rng.normal(size=3_000)), noise=rng.normal(size=3_000))
    a = np.zeros(3_000, int)
    matrix = logistic._columns(x, np.unique(x.buckets))

    def chosen(slope):
        seen = cells(np.arange(3_000), a, chance(slope * z), 1)
        table = logistic._Table(matrix, seen.contexts, a, seen.reward_sum, 1 - seen.reward_sum)
        return logistic._choose_penalty(table, 1, 0)

    assert chosen(20.0) == 100.0
    assert chosen(0.0) == 10.0
