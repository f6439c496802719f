"""One regression per action: logistic as scikit-learn does it, folds that stay apart, actions seen little or never."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from warmstart.core.errors import UsageError
from warmstart.features import ContextMatrix
from warmstart.reward import by_action as module
from warmstart.reward.by_action import FEWEST_EVENTS, PENALTIES, learn_by_action


class World:
    """Three actions whose rewards depend on a number, each in its own way."""

    def __init__(self, cells=1500, *, folds=3, slope=0.15, seed=0):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=cells)
        self.numbers = rng.integers(0, 3, size=cells)
        slopes, bases = np.array([slope, -slope, 0.0]), np.array([0.5, 0.4, 0.2])
        self.truth = np.clip(bases[self.numbers] + slopes[self.numbers] * self.x, 0, 1)
        self.contexts = pa.table({"x": self.x, "group": np.where(rng.random(cells) < 0.5, "u", "v")})
        self.which = np.arange(cells)
        self.actions = pa.array(np.array(["pear", "apple", "fig"])[self.numbers])
        self.n = rng.integers(1, 4, size=cells).astype(float)
        self.reward_sum = rng.binomial(self.n.astype(int), self.truth).astype(float)
        self.folds = rng.integers(0, folds, size=cells)

    def learn(self, **settings):
        return learn_by_action(
            self.contexts, self.which, self.actions, self.n, self.reward_sum, folds=self.folds, **settings
        )

    def predict(self, **settings):
        return self.learn(**settings).predict(self.contexts, self.which, self.actions, self.folds)


@pytest.fixture(scope="module")
def world():
    return World()


def test_the_truth_of_linear_rewards_is_found(world):
    found = world.predict()
    mean = world.reward_sum.sum() / world.n.sum()
    assert np.mean((found - world.truth) ** 2) < 0.1 * np.mean((mean - world.truth) ** 2)


def test_each_regression_is_scikit_learns_logistic_one(world):
    learned = world.learn()
    found = learned.predict(world.contexts, world.which, world.actions, world.folds)
    assert set(learned.penalties) == {0, 1, 2}
    for fold, penalty in learned.penalties.items():
        others = np.flatnonzero(world.folds != fold)
        matrix = ContextMatrix.learn(world.contexts.take(others), world.n[others])
        for action in range(3):
            rows = others[world.numbers[others] == action]
            own = np.flatnonzero((world.folds == fold) & (world.numbers == action))
            x, rewards = matrix.apply(world.contexts.take(rows)), world.reward_sum[rows]
            direct = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(
                np.vstack([x, x]),
                np.repeat([True, False], len(rows)),
                sample_weight=np.concatenate([rewards, world.n[rows] - rewards]),
            )
            expected = direct.predict_proba(matrix.apply(world.contexts.take(own)))[:, 1]
            assert found[own] == pytest.approx(expected, abs=1e-5)


def test_any_regressor_can_be_used_and_is_copied(world):
    given = LinearRegression()
    learned = world.learn(model=given)
    assert learned.penalties == {}
    assert not hasattr(given, "coef_")
    found = learned.predict(world.contexts, world.which, world.actions, world.folds)
    assert np.mean((found - world.truth) ** 2) < 0.002


def test_no_event_is_predicted_by_a_model_that_saw_it(world):
    own = world.folds == 1
    changed = World()
    changed.reward_sum = np.where(own, world.n, world.reward_sum)
    changed.n = np.where(own, 2 * world.n, world.n)
    x = np.where(own, world.x + 1e6, world.x)
    before, asked = world.learn(), (world.contexts, world.which[own], world.actions.filter(own), world.folds[own])
    changed.contexts = world.contexts.set_column(0, "x", pa.array(x))
    after = changed.learn()
    assert (before.predict(*asked) == after.predict(*asked)).all()
    others = world.contexts, world.which[~own], world.actions.filter(~own), world.folds[~own]
    assert (before.predict(*others) != after.predict(*others)).mean() > 0.9


def test_clear_effects_are_penalised_less_than_none():
    clear, faint = World(slope=0.2).learn().penalties, World(slope=0.0).learn().penalties
    assert max(clear.values()) < max(faint.values())
    assert set(clear.values()) | set(faint.values()) <= set(PENALTIES)


def test_where_nothing_can_be_held_out_context_says_next_to_nothing():
    contexts, folds = pa.table({"x": [0.0, 1.0, 2.0, 3.0]}), np.array([0, 1, 0, 1])
    actions, n = pa.array(["a", "a", "b", "b"]), np.full(4, 10.0)
    assert learn_by_action(contexts, np.arange(4), actions, n, n / 2, folds=folds).penalties == dict.fromkeys(
        (0, 1), PENALTIES[-1]
    )


def test_an_action_seen_little_has_its_mean_shrunk_and_one_never_seen_the_mean_of_all():
    contexts = pa.table({"x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    actions = pa.array(["a", "a", "b", "a", "b", "c", "b"])
    n = np.array([4.0, 4.0, 2.0, 3.0, 1.0, 3.0, 1.0])
    rewards = np.array([2.0, 1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    folds = np.array([0, 0, 0, 1, 1, 1, 0])
    learned = learn_by_action(contexts, np.arange(7), actions, n, rewards, folds=folds)
    asked = pa.table({"x": [9.0, -9.0, 3.0]})
    found = learned.predict(asked, np.arange(3), pa.array(["b", "c", "kiwi"]), np.array([1, 1, 1]))
    overall = 5 / 11
    assert found == pytest.approx([(2 + FEWEST_EVENTS * overall) / (3 + FEWEST_EVENTS), overall, overall])
    assert set(learned.learned[1].regressions) == {0}
    assert set(learned.learned[0].regressions) == set()


def test_rows_without_events_teach_nothing(world):
    n, rewards = world.n.copy(), world.reward_sum.copy()
    n[:100] = rewards[:100] = 0
    kept = slice(100, None)
    first = learn_by_action(world.contexts, world.which, world.actions, n, rewards, folds=world.folds)
    second = learn_by_action(
        world.contexts, world.which[kept], world.actions.slice(100), n[kept], rewards[kept], folds=world.folds[kept]
    )
    asked = world.contexts, world.which, world.actions, world.folds
    assert first.predict(*asked) == pytest.approx(second.predict(*asked))


def test_predictions_stay_between_nothing_and_one(world):
    far = pa.table({"x": [1e3, -1e3], "group": ["u", "never seen"]})
    learned = world.learn(model=LinearRegression())
    assert learned.predict(far, np.arange(2), pa.array(["pear", "pear"]), np.array([0, 0])).tolist() == [1, 0]


def test_actions_are_matched_by_label_and_rows_keep_their_places(world, monkeypatch):
    learned = world.learn()
    whole = learned.predict(world.contexts, world.which, world.actions, world.folds)
    order = np.random.default_rng(0).permutation(len(whole))
    monkeypatch.setattr(module, "MOST_IN_A_BATCH", 37)
    mixed = learned.predict(world.contexts, order, world.actions.take(order), world.folds[order])
    assert mixed == pytest.approx(whole[order], rel=1e-12)
    assert len(learned.predict(world.contexts, order[:0], world.actions.slice(0, 0), world.folds[:0])) == 0


def test_wide_contexts_are_sparse_and_served():
    world = World(300, folds=2)
    words = np.array(["red", "blue", "green", "old", "new"])
    texts = [" ".join(words[np.random.default_rng(i).integers(0, 5, size=4)]) for i in range(300)]
    world.contexts = world.contexts.append_column("text", pa.array(texts))
    found = world.predict()
    assert ((found >= 0) & (found <= 1)).all()


def test_wide_matrices_get_the_same_regressions(monkeypatch):
    direct = World(200, folds=2)
    found, penalties = direct.predict(), direct.learn().penalties
    monkeypatch.setattr(module, "WIDE", 1)
    assert direct.learn().penalties == penalties
    assert direct.predict() == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_an_action_whose_rewards_never_differ_has_its_mean_shrunk(world, rate):
    same = World()
    same.reward_sum = np.where(same.numbers == 0, rate * same.n, same.reward_sum)
    learned, others = same.learn(), same.folds != 1
    own = others & (same.numbers == 0)
    overall = same.reward_sum[others].sum() / same.n[others].sum()
    expected = (rate * same.n[own].sum() + FEWEST_EVENTS * overall) / (same.n[own].sum() + FEWEST_EVENTS)
    found = learned.predict(same.contexts, np.arange(3), pa.array(["pear"] * 3), np.ones(3, dtype=int))
    assert found == pytest.approx(expected)


def test_contexts_that_repeat_are_told_once():
    apart, once = World(), World()
    apart.which = once.which = np.random.default_rng(1).integers(0, 40, size=len(apart.n))
    apart.contexts = apart.contexts.take(apart.which)
    apart.which = np.arange(len(apart.n))
    assert once.predict() == pytest.approx(apart.predict(), rel=1e-9)
    assert once.learn().penalties == apart.learn().penalties


def test_a_seed_decides_everything(world):
    first, again, other = (world.predict(model=DecisionTreeRegressor(max_features=1), seed=s) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert (world.predict() == world.predict()).all()


def test_what_cannot_serve_is_refused(world):
    with pytest.raises(UsageError, match=r"KNeighborsRegressor.fit takes no sample_weight"):
        world.learn(model=KNeighborsRegressor())
    with pytest.raises(UsageError, match="LogisticRegression is a classifier"):
        world.learn(model=LogisticRegression())
    with pytest.raises(UsageError, match="Fold 9 has no model"):
        world.learn().predict(world.contexts, world.which, world.actions, np.full(len(world.n), 9))
    with pytest.raises(UsageError, match="two folds"):
        World(30, folds=1).learn()
