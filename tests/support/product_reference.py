"""What the kernels of products must compute, over dense arrays in double precision."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit

from warmstart.features import FeatureRows
from warmstart.kernels import SQUARED, best_of_all, pack_columns, predict
from warmstart.reward.product import Stream

BITS = (5, 4)


def random_rows(rng, size, width, bits):
    rows = np.repeat(np.arange(size), width)
    found = np.concatenate([rng.choice(1 << bits, width, replace=False) for _ in range(size)])
    return FeatureRows.of(rows, found, rng.normal(size=len(rows)) * 0.4, size)


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


def check_best_of_all(loss=SQUARED, contexts=9, actions=7):
    """Hold best_of_all to the largest of all dense products, and its choices to their own predictions."""
    rng = np.random.default_rng(0)
    x, a = random_rows(rng, contexts, 4, BITS[0]), random_rows(rng, actions, 3, BITS[1])
    weights, width = rng.normal(size=1 << sum(BITS)).astype(np.float32), 1 << BITS[1]
    factors = rng.uniform(0.1, 0.9, size=len(a))
    scores = dense(x, BITS[0]) @ weights.reshape(1 << BITS[0], -1) @ dense(a, BITS[1]).T
    predicted = scores if loss == SQUARED else expit(scores)
    expected = np.minimum(np.maximum(predicted, 0.05) * factors, 1.0)
    best, found = np.zeros(len(x), dtype=np.int64), np.empty(len(x))
    packed = (*pack_columns(a.arrays, width), factors)
    best_of_all(np.arange(len(x)), x.arrays, packed, (weights, width, 0.05, loss), best, found)
    assert np.allclose(found, expected.max(axis=1), rtol=0, atol=1e-5)
    pairs = np.empty(len(x), dtype=np.float32)
    predict(np.arange(len(x)), best, x.arrays, a.arrays, weights, width, pairs)
    assert np.allclose(pairs, scores[np.arange(len(x)), best], rtol=0, atol=1e-5)
