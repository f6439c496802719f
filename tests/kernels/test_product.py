"""The kernels against plain NumPy, compiled and not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from warmstart.features import FeatureRows
from warmstart.kernels import LOGISTIC, SQUARED, best_of_all, predict, step_size
from warmstart.reward.product import Stream, learn

BITS = (5, 4)


def random_rows(rng, size, width, bits):
    rows = np.repeat(np.arange(size), width)
    found = np.concatenate([rng.choice(1 << bits, width, replace=False) for _ in range(size)])
    return FeatureRows.of(rows, found, rng.normal(size=len(rows)) * 0.4, size, names=1 << bits)


def dense(rows, bits):
    table = np.zeros((len(rows), 1 << bits))
    at = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    np.add.at(table, (at, rows.buckets), rows.values)
    return table


def examples(seed, *, cells=60):
    rng = np.random.default_rng(seed)
    x, a = random_rows(rng, 9, 4, BITS[0]), random_rows(rng, 7, 3, BITS[1])
    stream = Stream(
        rng.integers(9, size=cells),
        rng.integers(7, size=cells),
        rng.random(cells).astype(np.float32),
        rng.gamma(1.0, 2.0, size=cells).astype(np.float32),
    )
    return x, a, stream


def logistic_move(y, p, square, until):
    flow = solve_ivp(lambda _, m: y - expit(p + square * m), (0, until), [0.0], rtol=1e-10, atol=1e-12)
    return flow.y[0, -1]


def reference(x, a, stream, rate, loss):
    """The same pass over dense products, in double precision; logistic steps by a solver of differential equations."""
    weights = np.zeros((1 << BITS[0], 1 << BITS[1]))
    left, right, total = dense(x, BITS[0]), dense(a, BITS[1]), 0.0
    for c, d, y, w in zip(stream.contexts, stream.actions, stream.targets, stream.importance, strict=True):
        z = np.outer(left[c], right[d])
        p, square = float((z * weights).sum()), float((z**2).sum())
        if loss == "squared":
            p = min(max(p, 0), 1)
            total += w * (y - p) ** 2
            move = (y - p) * (1 - np.exp(-rate * w * square)) / square
        else:
            total += w * (np.logaddexp(0, p) - y * p)
            move = logistic_move(y, p, square, rate * w)
        weights += move * z
    return weights, total / stream.importance.sum()


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


def test_best_of_all_is_the_best_of_all():
    rng = np.random.default_rng(0)
    x, a, _ = examples(0)
    weights = rng.normal(size=1 << sum(BITS)).astype(np.float32)
    factors = rng.uniform(0.5, 2.0, size=len(a))
    scores = dense(x, BITS[0]) @ weights.reshape(1 << BITS[0], -1) @ dense(a, BITS[1]).T
    expected = np.minimum(np.maximum(scores, 0.05) * factors, 1.0)
    best, found = np.zeros(len(x), dtype=np.int64), np.empty(len(x))
    best_of_all(np.arange(len(x)), x.arrays, a.arrays, factors, 0.05, SQUARED, weights, 1 << BITS[1], best, found)
    assert found == pytest.approx(expected.max(axis=1), abs=1e-5)
    pairs = np.empty(len(x), dtype=np.float32)
    predict(np.arange(len(x)), best, x.arrays, a.arrays, weights, 1 << BITS[1], pairs)
    assert pairs == pytest.approx(scores[np.arange(len(x)), best], abs=1e-5)


def test_without_the_compiler_the_numbers_are_the_same():
    script = """
from tests.kernels.test_product import *
import numba
assert numba.config.DISABLE_JIT
for loss in ("squared", "logistic"):
    x, a, stream = examples(2, cells=25)
    weights, total = reference(x, a, stream, 0.3, loss)
    found = learn(stream, x, a, bits=BITS, rates=(0.3,), loss=loss)
    assert np.abs(found.weights.reshape(weights.shape) - weights).max() < 1e-5
test_best_of_all_is_the_best_of_all()
print("same")
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path.cwd())}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "same\n", ran.stderr
