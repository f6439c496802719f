"""The propensity model: the truth of simulated worlds, folds that stay apart, labels, samples, calibration."""

import time
import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import softmax
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from warmstart.core.errors import UsageError
from warmstart.features import ContextMatrix
from warmstart.propensity import classifier
from warmstart.propensity import training as module
from warmstart.propensity.classifier import learn_propensity
from warmstart.propensity.quality import calibration, log_loss
from warmstart.propensity.training import Training, draw

NAMES = np.array(["pear", "apple", "fig", "date", "lime"])


class World:
    """Events of a softmax logger: two numbers and a category decide; two folds at least."""

    def __init__(self, events=4000, *, actions=5, folds=3, seed=0):
        rng = np.random.default_rng(seed)
        x, group = rng.normal(size=(events, 2)), rng.integers(0, 3, size=events)
        strengths, base = rng.normal(size=(2, actions)), rng.normal(size=(3, actions))
        self.truth = softmax(x @ strengths + base[group], axis=1)
        self.shown = (self.truth.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1)
        self.contexts = pa.table({"x": x[:, 0], "y": x[:, 1], "group": np.array(["u", "v", "w"])[group]})
        self.actions = pa.array(NAMES[self.shown])
        self.n = np.ones(events)
        self.folds = rng.integers(0, folds, size=events)

    def learn(self, **settings):
        return learn_propensity(self.contexts, self.actions, self.n, self.folds, **settings)

    def propensity(self, **settings):
        return self.learn(**settings).propensity(self.contexts, self.actions, self.folds)

    @property
    def true_propensity(self):
        return self.truth[np.arange(len(self.shown)), self.shown]


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def learned(world):
    return world.learn()


def plain(**settings):
    return {"model": LogisticRegression(max_iter=500, **settings), "temperature": 1.0}


def test_the_truth_of_a_softmax_logger_is_found(world, learned):
    found = learned.propensity(world.contexts, world.actions, world.folds)
    best = log_loss(world.true_propensity, world.n).log_loss
    assert log_loss(found, world.n).log_loss < 1.02 * best
    labels, rows = learned.rows(world.contexts, world.folds)
    order = [labels.to_pylist().index(name) for name in NAMES]
    divergence = (world.truth * np.log(world.truth / rows[:, order])).sum(axis=1).mean()
    assert 0 < divergence < 0.01 * best
    assert learned.converged
    assert not learned.sampled
    assert learned.absent == {0: 0, 1: 0, 2: 0}


def test_rows_are_probabilities_and_hold_the_propensity(world, learned):
    labels, rows = learned.rows(world.contexts, world.folds)
    assert labels.to_pylist() == sorted(NAMES)
    assert rows.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    places = np.searchsorted(sorted(NAMES), NAMES[world.shown])
    found = learned.propensity(world.contexts, world.actions, world.folds)
    assert found == pytest.approx(rows[np.arange(len(rows)), places])


def test_no_event_is_weighted_by_a_model_that_saw_it(world, learned):
    own = world.folds == 1
    changed = np.where(own, "pear", NAMES[world.shown])
    other = learn_propensity(world.contexts, pa.array(changed), np.where(own, 9.0, world.n), world.folds)
    before = learned.rows(world.contexts.filter(own), world.folds[own])[1]
    after = other.rows(world.contexts.filter(own), world.folds[own])[1]
    assert (before == after).all()
    others = ~own
    assert (
        learned.rows(world.contexts.filter(others), world.folds[others])[1]
        != other.rows(world.contexts.filter(others), world.folds[others])[1]
    ).all()


def test_contexts_of_a_fold_do_not_shape_its_own_model(world, learned):
    own = world.folds == 1
    shifted = np.where(own, 1e6, world.contexts["x"].to_numpy())
    strange = world.contexts.set_column(0, "x", pa.array(shifted))
    other = learn_propensity(strange, world.actions, world.n, world.folds)
    asked = world.contexts.filter(own)
    assert (learned.rows(asked, world.folds[own])[1] == other.rows(asked, world.folds[own])[1]).all()


def test_with_one_other_fold_and_temperature_one_it_is_scikit_learn():
    world = World(800, folds=2)
    world.n = np.random.default_rng(1).integers(1, 4, size=800).astype(float)
    found = world.propensity(**plain(C=0.5))
    for fold in (0, 1):
        other, own = np.flatnonzero(world.folds != fold), np.flatnonzero(world.folds == fold)
        matrix = ContextMatrix.learn(world.contexts.take(other), world.n[other])
        direct = LogisticRegression(max_iter=500, C=0.5).fit(
            matrix.apply(world.contexts.take(other)), NAMES[world.shown[other]], sample_weight=world.n[other]
        )
        rows = direct.predict_proba(matrix.apply(world.contexts.take(own)))
        places = [list(direct.classes_).index(name) for name in NAMES[world.shown[own]]]
        assert found[own] == pytest.approx(rows[np.arange(len(own)), places], abs=1e-5)


def test_a_cell_of_n_events_is_n_rows_of_one():
    world = World(600, folds=2)
    n = np.random.default_rng(1).integers(1, 4, size=600)
    every = np.repeat(np.arange(600), n)
    settings = plain(C=1.0, tol=1e-8)
    cells = learn_propensity(world.contexts, world.actions, n.astype(float), world.folds, **settings)
    events = learn_propensity(
        world.contexts.take(every), world.actions.take(every), np.ones(len(every)), world.folds[every], **settings
    )
    asked = world.contexts, world.actions, world.folds
    assert cells.propensity(*asked) == pytest.approx(events.propensity(*asked), abs=1e-5)


@pytest.mark.parametrize("values", [["b", "c", "a"], [30, -1, 7], [True, False]])
def test_actions_are_matched_by_label(values):
    actions = values * 40
    contexts = pa.table({"x": np.zeros(len(actions))})
    n = np.array([6.0, 3.0, 1.0][: len(values)] * 40)
    folds = np.arange(len(actions)) // len(values) % 2
    learned = learn_propensity(contexts, pa.array(actions), n, folds, temperature=1.0)
    found = learned.propensity(contexts, pa.array(actions), folds)
    assert found[: len(values)] == pytest.approx((n / n[: len(values)].sum())[: len(values)], abs=0.01)


def test_classes_in_any_order_are_matched():
    class Backwards(DecisionTreeClassifier):
        def fit(self, x, y, sample_weight=None):
            super().fit(x, y, sample_weight=sample_weight)
            self.classes_ = self.classes_[::-1]
            return self

        def predict_proba(self, x):
            return super().predict_proba(x)[:, ::-1]

    world = World(300)
    straight = world.propensity(model=DecisionTreeClassifier(max_depth=3), temperature=1.0)
    assert world.propensity(model=Backwards(max_depth=3), temperature=1.0) == pytest.approx(straight)


def test_an_action_that_the_other_folds_lack_has_no_propensity():
    world = World(600, folds=2)
    names = np.where((world.folds == 0) & (NAMES[world.shown] == "fig"), "date", NAMES[world.shown])
    learned = learn_propensity(world.contexts, pa.array(names), world.n, world.folds)
    found = learned.propensity(world.contexts, pa.array(names), world.folds)
    assert learned.absent == {0: 0, 1: 1}
    lacking = (names == "fig") & (world.folds == 1)
    assert lacking.any()
    assert (np.isnan(found) == lacking).all()
    labels, rows = learned.rows(world.contexts, world.folds)
    assert (np.isnan(rows) == ((world.folds == 1)[:, None] & (np.array(labels.to_pylist()) == "fig"))).all()
    loss = log_loss(found, world.n)
    assert loss.without == pytest.approx(lacking.mean())
    assert np.isfinite(loss.log_loss)
    assert calibration(learned, world.contexts, pa.array(names), world.n, world.folds).without == loss.without
    strangers = pa.array(["kiwi"] * 600)
    assert np.isnan(learned.propensity(world.contexts, strangers, world.folds)).all()
    assert calibration(learned, world.contexts, strangers, world.n, world.folds).without == 1


def test_rows_without_events_teach_nothing():
    world = World(300, folds=2)
    more = pa.concat_tables([world.contexts, world.contexts.slice(0, 50)])
    actions = pa.array([*world.actions.to_pylist(), *["kiwi", "fig"] * 25])
    n, folds = np.concatenate([world.n, np.zeros(50)]), np.concatenate([world.folds, np.zeros(50, np.int64)])
    learned = learn_propensity(more, actions, n, folds)
    assert learned.absent == {0: 1, 1: 1}
    assert learned.propensity(more, actions, folds)[:300] == pytest.approx(world.propensity())
    assert np.isfinite(calibration(learned, more, actions, n, folds).noise)


def test_a_single_action_is_certain_where_it_was_the_only_one():
    contexts, folds = pa.table({"x": [1.0, 2.0, 3.0, 4.0]}), np.array([0, 0, 1, 1])
    actions = pa.array(["a", "b", "a", "a"])
    learned = learn_propensity(contexts, actions, np.ones(4), folds)
    found = learned.propensity(contexts, actions, folds)
    assert found[0] == 1
    assert np.isnan(found[1])
    assert ((found[2:] > 0) & (found[2:] < 1)).all()
    assert learned.absent == {0: 1, 1: 0}


def test_a_fold_needs_others_and_a_model():
    world = World(60, folds=2)
    with pytest.raises(UsageError, match="two folds"):
        learn_propensity(world.contexts, world.actions, world.n, np.zeros(60, np.int64))
    with pytest.raises(UsageError, match="Fold 5 has no model"):
        world.learn(**plain()).propensity(world.contexts, world.actions, np.full(60, 5))


def test_classifiers_that_cannot_serve_are_refused(world):
    with pytest.raises(UsageError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        world.learn(model=KNeighborsClassifier())
    with pytest.raises(UsageError, match="Perceptron has no predict_proba"):
        world.learn(model=Perceptron())


@pytest.mark.parametrize("model", [None, RandomForestClassifier(10, max_depth=4)])
def test_a_seed_decides_everything(model):
    world = World(400, folds=2)
    first, again, other = (world.propensity(model=model, seed=seed, most=100) for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


def test_a_model_that_stops_early_says_so_and_warns_of_nothing(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not world.learn(model=LogisticRegression(max_iter=2), temperature=1.0).converged


def test_other_warnings_of_a_model_come_through(world):
    class Noisy(DummyClassifier):
        def fit(self, x, y, sample_weight=None):
            warnings.warn("be careful", RuntimeWarning, stacklevel=1)
            return super().fit(x, y, sample_weight)

    with pytest.warns(RuntimeWarning, match="be careful"):
        world.learn(model=Noisy(), temperature=1.0)


def test_a_model_that_is_too_sure_is_cooled_and_one_that_is_not_is_left():
    world = World(1500, folds=2)
    forest = RandomForestClassifier(30, min_samples_leaf=1, random_state=0)
    cooled, hot = world.learn(model=forest), world.learn(model=forest, temperature=1.0)
    assert max(cooled.temperatures.values()) < 0.7
    assert hot.temperatures == {0: 1.0, 1: 1.0}
    asked = world.contexts, world.actions, world.folds
    loss, before = (log_loss(found.propensity(*asked), world.n).log_loss for found in (cooled, hot))
    assert loss < 0.8 * before
    assert calibration(cooled, *asked[:2], world.n, world.folds).error < 0.5 * (
        calibration(hot, *asked[:2], world.n, world.folds).error
    )
    assert all(0.8 < power < 1.3 for power in World().learn(model=LogisticRegression()).temperatures.values())


def test_few_events_say_little_about_a_temperature():
    world = World(24, folds=2)
    assert all(0.3 < power < 3 for power in world.learn(model=LogisticRegression()).temperatures.values())


def test_noise_is_penalised_more_than_signal():
    rng = np.random.default_rng(0)
    noise = pa.table({f"x{i}": rng.normal(size=300) for i in range(20)})
    actions = pa.array(NAMES[rng.integers(0, 5, size=300)])
    folds = np.arange(300) % 2
    found = learn_propensity(noise, actions, np.ones(300), folds).propensity(noise, actions, folds)
    plainly = learn_propensity(noise, actions, np.ones(300), folds, **plain()).propensity(noise, actions, folds)
    assert log_loss(found, np.ones(300)).log_loss < np.log(5) + 0.05
    assert log_loss(plainly, np.ones(300)).log_loss > np.log(5) + 0.15


def test_a_draw_is_of_the_size_asked_for_and_keeps_rows_of_many_events():
    n = np.concatenate([np.full(900, 1.0), [500.0, 40.0], np.zeros(10)])
    rows, weights = draw(n, 100, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == 100
    found = dict(zip(rows.tolist(), weights.tolist(), strict=True))
    assert (found[900], found[901]) == (500, 40)
    assert weights[n[rows] == 1] == pytest.approx(np.full(98, 900 / 98))
    assert (n[rows] > 0).all()
    neighbours, _ = draw(np.ones(100), 50, np.random.default_rng(0))
    assert (np.diff(neighbours) == 1).any()
    whole, same = draw(n, len(n), np.random.default_rng(0))
    assert (whole == np.arange(len(n))).all()
    assert (same == n).all()


def test_a_draw_is_unbiased():
    """Means of 4,000 draws within 5 standard errors for 30 rows: false alarm below 1 in 10,000."""
    rng = np.random.default_rng(0)
    n = np.concatenate([rng.integers(1, 6, size=28).astype(float), [30.0, 60.0]])
    totals, squares = np.zeros(30), np.zeros(30)
    for _ in range(4000):
        rows, weights = draw(n, 8, rng)
        assert len(rows) <= 8
        totals[rows] += weights
        squares[rows] += weights**2
    mean = totals / 4000
    error = np.sqrt(np.maximum(squares / 4000 - mean**2, 0) / 4000)
    assert (np.abs(mean - n) <= 5 * error + 1e-9).all()


def test_samples_keep_probabilities_unbiased():
    """Cells of many and of few events: mean log odds over 40 draws within 5 standard errors of all rows' own."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, size=2000).astype(float)
    actions = np.where(rng.random(2000) < 0.2 + 0.5 * x, "a", "b")
    n = np.where((actions == "a") & (rng.random(2000) < 0.3), 10.0, 1.0)
    folds = np.arange(2000) % 2
    contexts, asked = pa.table({"x": x}), pa.table({"x": [0.0, 1.0, 0.0, 1.0]})
    at = np.array([0, 0, 1, 1])

    def odds(**settings):
        learned = learn_propensity(contexts, pa.array(actions), n, folds, **plain(C=1e6), **settings)
        p = learned.rows(asked, at)[1][:, 0]
        assert learned.sampled == (settings.get("most", 2000) < 1000)
        return np.log(p / (1 - p))

    drawn = np.array([odds(most=400, seed=seed) for seed in range(40)])
    error = drawn.std(axis=0) / np.sqrt(40)
    assert (error < 0.06).all()
    assert (np.abs(drawn.mean(axis=0) - odds()) < 5 * error).all()
    unweighted = np.log(np.mean(actions == "a") / np.mean(actions == "b"))
    assert odds().mean() - unweighted > 20 * error.max()


def test_drawn_rows_weigh_as_many_events_as_they_are_worth(world):
    class Scales(DummyClassifier):
        def fit(self, x, y, sample_weight=None):
            self.total_ = sample_weight.sum()
            return super().fit(x, y, sample_weight)

    learned = world.learn(model=Scales(), temperature=1.0, most=100)
    assert [each.fitted.classifier.total_ for each in learned.learned.values()] == pytest.approx([100] * 3)
    n = np.ones(1000)
    training = Training(np.zeros((1000, 1)), np.zeros(1000, np.int64), n, n, np.arange(1000))
    assert (training.sample_weight == n).all()
    assert training.drawn(100, np.random.default_rng(0)).sample_weight == pytest.approx(np.ones(100))


def test_events_are_held_out_one_by_one():
    n = np.full(4, 1000.0)
    learn, held = Training(np.eye(4), np.arange(4), n, n, np.arange(4)).split(np.random.default_rng(0))
    assert learn.weights + held.weights == pytest.approx(n)
    assert held.weights == pytest.approx(np.full(4, 200), abs=60)
    single = np.ones(2000)
    learn, held = Training(np.zeros((2000, 1)), np.zeros(2000, np.int64), single, single, np.arange(2000)).split(
        np.random.default_rng(0)
    )
    assert len(learn.n) + len(held.n) == 2000
    assert len(held.n) == pytest.approx(400, abs=90)


def test_batches_change_nothing(world, learned, monkeypatch):
    whole = learned.propensity(world.contexts, world.actions, world.folds)
    measured = calibration(learned, world.contexts, world.actions, world.n, world.folds)
    monkeypatch.setattr(module, "LARGEST_BATCH", 5 * 700)
    assert module.batch_size(5) == 700
    assert learned.propensity(world.contexts, world.actions, world.folds) == pytest.approx(whole, rel=1e-12)
    again = calibration(learned, world.contexts, world.actions, world.n, world.folds)
    assert again.error == pytest.approx(measured.error)
    assert again.noise == pytest.approx(measured.noise)


def test_many_actions_mean_fewer_rows(world, monkeypatch):
    monkeypatch.setattr(classifier, "LARGEST_FIT", 5 * 500)
    assert world.learn(**plain()).sampled


class Fixed(DummyClassifier):
    """The logger itself as a model, or something else of our choosing."""

    def __init__(self, power=1.0):
        super().__init__()
        self.power = power

    def predict_proba(self, x):
        p = softmax(np.outer(x[:, 0], np.arange(len(self.classes_))), axis=1) ** self.power
        return p / p.sum(axis=1, keepdims=True)


def fixed_logger(events, seed, power):
    rng = np.random.default_rng(seed)
    contexts = pa.table({"x": np.concatenate([[-1.0, 1.0], rng.choice([-1.0, 1.0], size=events - 2)])})
    x = ContextMatrix.learn(contexts, np.ones(events)).apply(contexts)[:, 0]
    folds = np.arange(events) % 2
    truth = softmax(np.outer(np.round(x), np.arange(5)), axis=1)
    actions = pa.array((truth.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1))
    learned = learn_propensity(contexts, actions, np.ones(events), folds, model=Fixed(power), temperature=1.0)
    return calibration(learned, contexts, actions, np.ones(events), folds)


def test_true_propensities_show_no_more_error_than_noise():
    found = [fixed_logger(2000, seed, 1.0) for seed in range(20)]
    ratio = np.mean([each.error for each in found]) / np.mean([each.noise for each in found])
    assert 0.6 < ratio < 1.4
    assert max(each.error for each in found) < 0.05


@pytest.mark.parametrize("power", [0.3, 3.0])
def test_propensities_that_are_wrong_show_their_error(power):
    found = fixed_logger(2000, 0, power)
    assert 0.1 < found.error <= 1
    assert found.error > 10 * found.noise
    assert found.expected.sum() == pytest.approx(1)
    assert found.observed.sum() == pytest.approx(1)
    assert found.error == pytest.approx(np.abs(found.expected - found.observed).sum() / 2)


def test_calibration_looks_at_pairs_that_were_not_shown():
    """A model that is sure of one action is wrong although what it says of shown actions may look right."""
    contexts, folds = pa.table({"x": np.zeros(400)}), np.arange(400) % 2
    actions = pa.array(np.where(np.arange(400) // 2 % 10 < 9, "a", "b"))

    class Sure(DummyClassifier):
        def predict_proba(self, x):
            return np.tile([0.0, 1.0], (len(x), 1))

    learned = learn_propensity(contexts, actions, np.ones(400), folds, model=Sure(), temperature=1.0)
    assert calibration(learned, contexts, actions, np.ones(400), folds).error == pytest.approx(0.9)


def test_calibration_of_some_contexts_is_about_that_of_all(world, learned):
    given = learned, world.contexts, world.actions, world.n, world.folds
    some, whole = calibration(*given, most=1000), calibration(*given)
    assert some.noise == pytest.approx(2 * whole.noise, rel=0.2)
    assert some.expected == pytest.approx(whole.expected, abs=0.02)
    assert whole.error < 3 * whole.noise


def test_log_loss_is_the_mean_over_events():
    found = log_loss(np.array([0.5, 0.25, 0.0, np.nan]), np.array([2.0, 1.0, 1.0, 4.0]))
    assert found.log_loss == pytest.approx((2 * np.log(2) + np.log(4) + np.log(1e12)) / 4)
    assert found.without == 0.5
    assert np.isnan(log_loss(np.array([np.nan]), np.ones(1)).log_loss)


@pytest.mark.slow
def test_hashed_columns_take_seconds():
    """10,000 rows, four columns of up to 10,000 hashed values, 20 actions: 4 s; on all BLAS threads it was 148."""
    rng = np.random.default_rng(0)
    sizes = (50, 300, 3_000, 10_000)
    contexts = pa.table(
        {f"h{i}": [f"{v * 40_503 % 65_536:04x}" for v in rng.integers(0, size, 10_000)] for i, size in enumerate(sizes)}
    )
    actions = pa.array(np.minimum(rng.geometric(0.25, 10_000), 20))
    start = time.perf_counter()
    learned = learn_propensity(contexts, actions, np.ones(10_000), rng.integers(0, 5, 10_000))
    assert learned.converged
    assert time.perf_counter() - start < 30
