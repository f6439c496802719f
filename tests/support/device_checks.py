"""The GPU's kernels against their NumPy twin: called by tests, and by ``python -m benchmarks.gpu --check``."""

import numpy as np
from tests.support import device_twin as twin

from warmstart.kernels import ProductsOnGpu, best_of_all_on_gpu, pack_columns, predict_on_gpu

BITS = (7, 6)
WIDTH = 1 << BITS[1]


def random_rows(rng, size, most, bits):
    """Return starts, buckets and values of rows of up to so many features, and their squared lengths."""
    lengths = rng.integers(0, most + 1, size=size)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    buckets = rng.integers(1 << bits, size=starts[-1]).astype(np.uint32)
    values = (rng.normal(size=starts[-1]) * 0.4).astype(np.float32)
    squares = np.bincount(np.repeat(np.arange(size), lengths), values.astype(np.float64) ** 2, minlength=size)
    return (starts, buckets, values), squares.astype(np.float32)


def problem(seed, contexts=40, actions=60, events=300):
    rng = np.random.default_rng(seed)
    x, a = random_rows(rng, contexts, 40, BITS[0]), random_rows(rng, actions, 30, BITS[1])
    chosen = rng.integers(contexts, size=events), rng.integers(actions, size=events)
    given = (*chosen, rng.random(events).astype(np.float32), rng.gamma(1.0, 2.0, size=events).astype(np.float32))
    return given, x, a, (rng.normal(size=1 << sum(BITS)) * 0.1).astype(np.float32), rng.gamma(4.0, 0.25, size=actions)


def on_cpu(given, x, a):
    """Return examples and features as the CPU's learner takes them."""
    from warmstart.features import FeatureRows
    from warmstart.reward.product import Stream

    contexts, actions, targets, importance = given
    stream = Stream(contexts.astype(np.int64), actions.astype(np.int64), targets, importance)
    return stream, *(FeatureRows.of_arrays(*arrays) for arrays, _ in (x, a))


def check_training():
    """One example at a time learns what the twin learns; many in flight learn with no step lost."""
    found = {}
    for loss in (0, 1):
        given, x, a, _, _ = problem(loss)
        for groups in (((0.3,),), ((0.3, 0.1),), ((0.3, 0.1, 0.05, 0.0), (0.02,))):
            model = ProductsOnGpu.zero(dict.fromkeys(groups, 1), 1 << sum(BITS), WIDTH, (*x, *a), loss=loss)
            losses = [model.train(given), model.train(given, 0.5)]
            for rate in {rate for group in groups for rate in group} - {0.0}:
                weights = np.zeros(1 << sum(BITS), dtype=np.float32)
                wanted = [twin.train_stale(given, *x, *a, weights, WIDTH, (rate * f,), loss)[0] for f in (1.0, 0.5)]
                off = np.abs(model.weights(rate) - weights).max()
                assert off < 1e-5, (loss, groups, rate, off)
                assert np.abs(model.only(rate).weights(rate) - weights).max() == off
                assert np.allclose([one[rate] for one in losses], wanted, rtol=1e-5), (losses, wanted)
                found["largest difference"] = max(float(off), found.get("largest difference", 0.0))
    return found | _check_in_flight()


def _check_in_flight():
    """Examples that share no weight learn the same however many are in flight: no step may be lost."""
    size = 512
    each = np.arange(size + 1, dtype=np.int64)
    x = (each, (each[:-1] % 128).astype(np.uint32), np.ones(size, np.float32)), np.ones(size, np.float32)
    a = (each, (each[:-1] // 128).astype(np.uint32), np.ones(size, np.float32)), np.ones(size, np.float32)
    given = (each[:-1], each[:-1], np.linspace(0, 1, size).astype(np.float32), np.ones(size, np.float32))
    groups = {(0.3, 0.1): 64}
    model = ProductsOnGpu.zero(groups, 1 << sum(BITS), WIDTH, (*x, *a), loss=0)
    losses = model.train(given)
    weights = np.zeros(1 << sum(BITS), dtype=np.float32)
    wanted = twin.train_stale(given, *x, *a, weights, WIDTH, (0.3,), 0)[0]
    assert np.abs(model.weights(0.3) - weights).max() < 1e-6
    assert np.isclose(losses[0.3], wanted, rtol=1e-5)
    # All examples at one weight: the sum of all steps, in whatever order.
    same = (each * 0, each * 0, np.ones(size + 1, np.float32) * 0.5, np.full(size + 1, 1e-6, np.float32))
    model = ProductsOnGpu.zero(groups, 1 << sum(BITS), WIDTH, (*x, *a), loss=0)
    model.train(same)
    assert np.isclose(model.weights(0.3)[0], 0.5 * 0.3e-6 * (size + 1), rtol=1e-3)
    return {"examples in flight": 64}


def check_predictions():
    given, x, a, weights, _ = problem(2)
    products = predict_on_gpu(given[0], given[1], x[0], a[0], weights, WIDTH)
    wanted = twin.predict(given[0], given[1], x[0], a[0], weights, WIDTH)
    assert np.allclose(products, wanted, rtol=0, atol=1e-5)
    return {"largest difference": float(np.abs(products - wanted).max())}


def check_best_of_all():
    """Choices are the twin's, and scores to the last bit with the squared loss."""
    found = {}
    for loss, contexts in ((0, 1), (0, 33), (0, 300), (1, 300)):
        _, x, a, weights, factors = problem(contexts, contexts=contexts, actions=500)
        options = {"lowest": 0.05, "loss": loss}
        packed, used = pack_columns(a[0][:3], WIDTH)
        best, scores = best_of_all_on_gpu(x[0], (packed, used, factors), weights, WIDTH, **options)
        wanted, expected = twin.best_of_all(x[0], a[0], factors, weights, WIDTH, **options)
        assert np.allclose(scores, expected, rtol=0, atol=1e-6 if loss else 0), np.abs(scores - expected).max()
        assert np.array_equal(best, wanted) or loss
        found[f"choices of {contexts}, loss {loss}"] = float((best == wanted).mean())
    # The first of equals, in whatever part of the actions.
    twice = tuple(np.concatenate(pair) for pair in ((packed[1],) * 2, (packed[2],) * 2))
    starts = np.concatenate([packed[0], packed[0][1:] + packed[0][-1]])
    again, _ = best_of_all_on_gpu(x[0], ((starts, *twice), used, np.tile(factors, 2)), weights, WIDTH, **options)
    assert np.array_equal(again, best)
    return found
