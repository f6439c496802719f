"""The kernels against plain NumPy, compiled and not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.product_reference import BITS, examples, reference

from warmstart.kernels import LOGISTIC, SQUARED, step_size
from warmstart.reward.product import learn, train_pass


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(4))
def test_a_pass_equals_the_reference(seed, loss):
    x, a, stream = examples(seed)
    weights, total = reference(x, a, stream, 0.3, loss)
    found = learn(stream, x, a, bits=BITS, rates=(0.3,), loss=loss)
    assert found.weights.reshape(weights.shape) == pytest.approx(weights, abs=1e-5)
    assert found.training_loss == pytest.approx(total, abs=1e-5)


def test_the_rate_with_the_best_predictions_is_kept_and_all_read_the_same():
    x, a, stream = examples(3, cells=400)
    rates = (2.0, 0.3, 0.01)
    losses = {rate: reference(x, a, stream, rate, "squared")[1] for rate in rates}
    for threads in (1, 3):
        found = learn(stream, x, a, bits=BITS, rates=rates, threads=threads)
        assert found.rate == min(losses, key=losses.get)
        assert found.training_loss == pytest.approx(min(losses.values()), abs=1e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("number", [2, 3, 5, 9])
def test_rates_that_learn_side_by_side_learn_what_each_would_alone(number, loss):
    x, a, stream = examples(4, cells=200)
    rates = tuple(np.geomspace(0.01, 1.0, number).tolist())
    alone = {rate: learn(stream, x, a, bits=BITS, rates=(rate,), loss=loss) for rate in rates}
    best = min(alone.values(), key=lambda model: model.training_loss)
    for threads in (1, 2):
        found = learn(stream, x, a, bits=BITS, rates=rates, loss=loss, threads=threads)
        assert found.rate == best.rate
        assert np.abs(found.weights - best.weights).max() < 1e-6
        assert found.training_loss == pytest.approx(best.training_loss, abs=1e-6)


def test_every_rate_of_a_shared_pass_has_weights_and_a_loss_of_its_own():
    x, a, stream = examples(5, cells=200)
    rates, order, options = (0.5, 0.1, 0.02, 0.0), np.arange(len(stream)), {"width": 1 << BITS[1], "loss": "squared"}
    together = np.zeros((1 << sum(BITS), len(rates)), dtype=np.float32)
    losses = train_pass(stream, order, x, a, together.ravel(), rates=rates, **options)
    for lane, rate in enumerate(rates):
        weights = np.zeros(1 << sum(BITS), dtype=np.float32)
        (alone,) = train_pass(stream, order, x, a, weights, rates=(rate,), **options)
        assert losses[lane] == pytest.approx(alone, abs=1e-6)
        assert np.abs(together[:, lane] - weights).max() < 1e-6
    assert not together[:, 3].any()
    assert together[:, :3].any(axis=0).all()


def test_what_is_learned_does_not_depend_on_the_number_of_threads():
    x, a, stream = examples(6, cells=300)
    options = {"bits": BITS, "rates": (0.2, 0.1, 0.05, 0.02, 0.01), "passes": 2, "decay": 0.5, "shuffle_seed": 0}
    one, *others = (learn(stream, x, a, threads=threads, **options) for threads in (1, 2, 3, 5))
    for other in others:
        assert np.array_equal(one.weights, other.weights)
        assert (one.rate, one.training_loss) == (other.rate, other.training_loss)


def test_shuffled_passes_repeat_themselves_and_depend_on_the_seed():
    x, a, stream = examples(1, cells=300)
    options = {"bits": BITS, "rates": (0.1,), "passes": 2, "decay": 0.5}
    one, again, other = (learn(stream, x, a, **options, shuffle_seed=seed).weights for seed in (5, 5, 6))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC])
@pytest.mark.parametrize("weight", [0.01, 1.0, 300.0])
def test_one_update_of_twice_the_weight_equals_two(loss, weight):
    y, p, square = 0.8, 0.1, 2.5
    once = step_size(loss, y, p, 2 * weight, square)
    first = step_size(loss, y, p, weight, square)
    twice = first + step_size(loss, y, p + square * first, weight, square)
    assert once == pytest.approx(twice, rel=1e-4)
    if loss == SQUARED:
        assert abs(once * square) <= abs(y - p)


def test_without_the_compiler_the_numbers_are_the_same():
    script = """
import numba
import numpy as np
from tests.support.product_reference import BITS, check_best_of_all, examples, reference
from warmstart.reward.product import learn
assert numba.config.DISABLE_JIT
for loss in ("squared", "logistic"):
    x, a, stream = examples(2, cells=25)
    weights, total = reference(x, a, stream, 0.3, loss)
    found = learn(stream, x, a, bits=BITS, rates=(0.3,), loss=loss)
    assert np.abs(found.weights.reshape(weights.shape) - weights).max() < 1e-5
    both = learn(stream, x, a, bits=BITS, rates=(0.3, 1e-9), loss=loss)
    assert both.rate == 0.3 and np.abs(both.weights - found.weights).max() < 1e-6
check_best_of_all()
print("same")
"""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "same\n", ran.stderr


@pytest.mark.slow
def test_with_bounds_checked_no_kernel_leaves_its_arrays(tmp_path):
    script = """
import numpy as np
from tests.support.product_reference import BITS, check_best_of_all, examples
from warmstart.reward.product import learn
for loss in ("squared", "logistic"):
    x, a, stream = examples(2, cells=25)
    found = learn(stream, x, a, bits=BITS, rates=(0.3,), loss=loss)
    learn(stream, x, a, bits=BITS, rates=(0.3, 0.2, 0.1), loss=loss)
    found.predict(stream.contexts, stream.actions, x, a)
check_best_of_all()
try:
    found.predict(np.zeros(1, int), np.array([len(a)]), x, a)
except IndexError:
    print("checked")
"""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    # What was compiled before, without checks, must not be found.
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, **checked, "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "checked\n", ran.stderr
