"""The mixture over epochs: sharp where the logger is, mixed as contexts are, and blind to the fold it is asked for."""

import time

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.support.epoch_logs import Blocks

from warmstart.propensity.classifier import learn_propensity
from warmstart.propensity.mixture import compare_epochs, learn_mixture
from warmstart.propensity.quality import calibration, log_loss


@pytest.fixture(scope="module")
def world():
    return Blocks(0)


@pytest.fixture(scope="module")
def learned(world):
    return learn_mixture(*world.rows, world.block)


def asked(world, learned):
    return learned.propensity(world.contexts, world.actions, world.folds)


def test_one_model_gives_weights_that_are_too_large_and_one_an_epoch_does_not(world, learned):
    pooled = asked(world, learn_propensity(*world.rows))
    mixed = asked(world, learned)
    assert world.mean_weight(pooled) > 1.3
    assert world.mean_weight(mixed) == pytest.approx(world.mean_weight(world.true_propensity), abs=0.03)
    assert log_loss(mixed, world.n).log_loss < log_loss(pooled, world.n).log_loss - 0.1
    assert log_loss(mixed, world.n).log_loss == pytest.approx(
        log_loss(world.true_propensity, world.n).log_loss, abs=0.05
    )


def test_its_rows_are_probabilities_that_hold_the_propensity(world, learned):
    labels, rows = learned.rows(world.contexts, world.folds)
    assert labels.to_pylist() == [0, 1, 2, 3]
    assert rows.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    assert rows[np.arange(len(rows)), world.shown] == pytest.approx(asked(world, learned))
    measured = calibration(learned, *world.rows)
    assert measured.error < 4 * measured.noise


def test_no_event_is_weighted_by_models_that_saw_it(world, learned):
    own = world.folds == 2
    actions, n = np.where(own, 0, world.shown), np.where(own, 5.0, world.n)
    other = learn_mixture(world.contexts, pa.array(actions), n, world.folds, world.block)
    contexts, folds = world.contexts.filter(own), world.folds[own]
    assert (learned.rows(contexts, folds)[1] == other.rows(contexts, folds)[1]).all()
    contexts, folds = world.contexts.filter(~own), world.folds[~own]
    assert (learned.rows(contexts, folds)[1] != other.rows(contexts, folds)[1]).any()


def test_where_contexts_are_alike_epochs_have_their_shares(learned):
    assert learned.same_contexts
    shares = learned.learned[0].mixture.shares
    assert shares.fitted is None
    assert shares.shares == pytest.approx(np.full(6, 1 / 6), abs=0.02)


def test_epochs_with_other_contexts_are_told_apart():
    """Two epochs with P(x = 0) = .8 and .2; action 1 always, then never: its propensity is P(epoch | x), not 1/2."""
    rng = np.random.default_rng(0)
    late = np.arange(3000) >= 1500
    x = (rng.random(3000) < np.where(late, 0.8, 0.2)).astype(float)
    contexts = pa.table({"x": x, "u": rng.normal(size=3000)})
    actions, folds = pa.array((~late).astype(int)), rng.integers(0, 4, 3000)
    learned = learn_mixture(contexts, actions, np.ones(3000), folds, late.astype(np.int64))
    assert not learned.same_contexts
    _, rows = learned.rows(contexts, folds)
    for value, truth in ((0.0, 0.8), (1.0, 0.2)):
        assert rows[x == value, 1].mean() == pytest.approx(truth, abs=0.03)


def test_exploration_inside_an_epoch_is_found():
    """A fifth of events at random: a quarter of those show the rule's own action."""
    world = Blocks(1, explore=0.2)
    learned = learn_mixture(*world.rows, world.block)
    weights = learned.learned[0].mixture.imitators.weights
    assert 1 - weights[:, 0].mean() > 0.05
    pooled = asked(world, learn_propensity(*world.rows))
    assert log_loss(asked(world, learned), world.n).log_loss < log_loss(pooled, world.n).log_loss
    assert world.mean_weight(asked(world, learned)) == pytest.approx(1, abs=0.05)


def test_epochs_of_few_events_fall_back_to_the_pooled_model():
    """One steady random logger cut into 400 epochs: their models know nothing, and the mixture is no worse for it."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=2000)
    actions = (rng.random(2000) < 1 / (1 + np.exp(-x))).astype(int)
    contexts, folds, n = pa.table({"x": x}), rng.integers(0, 4, 2000), np.ones(2000)
    epochs = np.arange(2000) // 5
    mixed = learn_mixture(contexts, pa.array(actions), n, folds, epochs)
    pooled = learn_propensity(contexts, pa.array(actions), n, folds)
    losses = [log_loss(each.propensity(contexts, pa.array(actions), folds), n).log_loss for each in (mixed, pooled)]
    assert losses[0] == pytest.approx(losses[1], abs=0.005)
    assert mixed.learned[0].mixture.imitators.weights[:, 0].max() == 0


def test_any_classifier_of_scikit_learn_may_imitate(world):
    forest = RandomForestClassifier(10, min_samples_leaf=2, random_state=0)
    pooled = asked(world, learn_propensity(*world.rows, model=forest))
    mixed = asked(world, learn_mixture(*world.rows, world.block, model=forest))
    assert log_loss(mixed, world.n).log_loss < log_loss(pooled, world.n).log_loss
    assert abs(world.mean_weight(mixed) - 1) < 0.6 * abs(world.mean_weight(pooled) - 1)


def test_an_action_that_other_folds_lack_has_no_propensity(world):
    actions = np.where((world.folds == 0) & (world.shown == 1), 9, world.shown)
    learned = learn_mixture(world.contexts, pa.array(actions), world.n, world.folds, world.block)
    found = learned.propensity(world.contexts, pa.array(actions), world.folds)
    assert (np.isnan(found) == (actions == 9)).all()


def test_held_out_log_loss_finds_the_blocks(world):
    divisions = {str(k): np.arange(4800) * k // 4800 for k in (2, 3, 6, 12, 24)}
    losses = compare_epochs(*world.rows, divisions)
    assert min(losses, key=losses.get) == "6"
    assert losses["6"] < losses[""] - 0.1


def test_a_steady_logger_needs_no_epochs():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, 2))
    actions = (rng.random(3000) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    contexts = pa.table({"x": x[:, 0], "y": x[:, 1]})
    given = contexts, pa.array(actions), np.ones(3000), rng.integers(0, 5, 3000)
    losses = compare_epochs(*given, {str(k): np.arange(3000) * k // 3000 for k in (2, 8, 32)})
    assert losses[""] <= min(losses.values()) + 0.002


def test_all_epochs_together_cost_little_more_than_one_model():
    """Three times as much processor time at most, the one model included that imitators lean on.

    ``python -m benchmarks.blocks --cost`` measures 2.0 to 2.7 times, and 1.0 to 1.7 without that model.
    """
    world = Blocks(4, 12_000, columns=12, actions=6, blocks=20)
    spent = []
    for learn in (lambda: learn_propensity(*world.rows), lambda: learn_mixture(*world.rows, world.block)):
        start = time.process_time()
        learn()
        spent.append(time.process_time() - start)
    assert spent[1] < 3 * spent[0]
