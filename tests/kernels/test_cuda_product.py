"""Learning and predicting on a GPU: the NumPy twin against the CPU's kernels and, where there is one, the GPU's too."""

import numpy as np
import pytest
from tests.support import device_twin as twin
from tests.support.device_checks import BITS, WIDTH, check_predictions, check_training, on_cpu, problem

from warmstart.kernels import stable_in_flight
from warmstart.kernels.cuda_product import _inner_products, _threads_for
from warmstart.reward.product import learn, train_pass

LOSSES = pytest.mark.parametrize(("loss", "code"), [("squared", 0), ("logistic", 1)])


@LOSSES
def test_one_example_at_a_time_the_twin_learns_what_the_cpu_does(loss, code):
    given, x, a, *_ = problem(code)
    found = learn(*on_cpu(given, x, a), bits=BITS, rates=(0.3,), loss=loss)
    weights = np.zeros(1 << sum(BITS), dtype=np.float32)
    lost = twin.train_stale(given, *x, *a, weights, WIDTH, (0.3,), code)[0]
    assert np.abs(found.weights - weights).max() < 1e-5
    assert found.training_loss == pytest.approx(lost / given[3].sum(), rel=1e-5)


@LOSSES
def test_rates_side_by_side_are_those_of_the_cpu(loss, code):
    given, x, a, *_ = problem(4 + code)
    rates = (0.3, 0.1, 0.02, 0.0)
    stream, *rows = on_cpu(given, x, a)
    ours, theirs = (np.zeros(len(rates) << sum(BITS), dtype=np.float32) for _ in range(2))
    losses = train_pass(stream, np.arange(len(stream)), *rows, ours, width=WIDTH, rates=rates, loss=loss)
    assert twin.train_stale(given, *x, *a, theirs, WIDTH, rates, code) == pytest.approx(losses, rel=1e-5)
    assert np.abs(ours - theirs).max() < 1e-5


@LOSSES
def test_predictions_are_those_of_the_cpu(loss, code):
    given, x, a, weights, _ = problem(2)
    stream, *rows = on_cpu(given, x, a)
    found = learn(stream, *rows, bits=BITS, rates=(0.1,), loss=loss)
    found = type(found)(weights, WIDTH, loss, found.rate, found.training_loss)
    products = twin.predict(given[0], given[1], x[0], a[0], weights, WIDTH).astype(np.float32)
    assert found.predict(stream.contexts, stream.actions, *rows) == pytest.approx(found.bounded(products), abs=1e-5)


def test_with_as_many_in_flight_as_are_stable_learning_is_as_good_and_with_far_more_it_is_worse():
    given, x, a, *_ = problem(1, contexts=5, actions=4, events=800)
    targets = np.where((given[0] + given[1]) % 2, 0.9, 0.1).astype(np.float32)
    given = (given[0], given[1], targets, np.ones(len(targets), np.float32))

    def loss(in_flight):
        weights = np.zeros(1 << sum(BITS), dtype=np.float32)
        return twin.train_stale(given, *x, *a, weights, WIDTH, (0.1,), 0, in_flight)[0]

    # Of a long pass; a short one has few in flight, so that most of it sees what was learned.
    stable, fewer = (stable_in_flight([np.tile(one, 300) for one in given], (*x, *a), rate) for rate in (0.1, 1.0))
    assert stable_in_flight(given, (*x, *a), 0.1) == 1
    assert 1 <= fewer < stable < 100
    assert loss(stable) < 1.1 * loss(1)
    assert loss(256) > 1.5 * loss(1)


def test_the_inner_products_of_examples_are_those_of_dense_rows():
    _, (rows, _), *_ = problem(3)
    starts, buckets, values = rows
    dense = np.zeros((len(starts) - 1, 1 << BITS[0]))
    np.add.at(dense, (np.repeat(np.arange(len(dense)), np.diff(starts)), buckets), values)
    chosen = np.array([3, 0, 3, 17])
    assert _inner_products(chosen, rows) == pytest.approx(dense[chosen] @ dense[chosen].T, abs=1e-6)


def test_threads_of_an_example_are_a_power_of_two_from_a_warp_to_a_block():
    def rows(size):
        return np.array([0, size]), np.zeros(size), np.zeros(size)

    assert [_threads_for(rows(x), rows(a)) for x, a in ((1, 1), (0, 0), (50, 30), (900, 900))] == [32, 32, 256, 512]


@pytest.mark.gpu
@pytest.mark.parametrize("check", [check_training, check_predictions])
def test_on_a_gpu_kernels_compute_what_the_twin_does(gpu, check):
    check()
