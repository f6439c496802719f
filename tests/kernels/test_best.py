"""The best of all actions: exactly that of working out every pair, in whatever blocks."""

import numpy as np
import pytest
from tests.support.product_reference import BITS, check_best_of_all, random_rows

from warmstart.features import FeatureRows
from warmstart.kernels import LOGISTIC, SQUARED, best_of_all, pack_columns

WIDTH = 1 << BITS[1]


def chosen(x, a, weights, factors, *, lowest=0.0, loss=SQUARED, contexts=None):
    contexts = np.arange(len(x)) if contexts is None else contexts
    best, scores = np.full(len(contexts), -1), np.full(len(contexts), np.nan)
    actions = (*pack_columns(a.arrays, WIDTH), factors)
    best_of_all(contexts, x.arrays, actions, (weights, WIDTH, lowest, loss), best, scores)
    return best, scores


def one_by_one(x, a, weights, factors, **options):
    """Ask for every action alone, and keep the first of the best."""
    each = [chosen(x, a.take(np.array([i])), weights, factors[i : i + 1], **options)[1] for i in range(len(a))]
    return np.argmax(each, axis=0), np.max(each, axis=0)


def problem(seed, contexts, actions):
    rng = np.random.default_rng(seed)
    x, a = random_rows(rng, contexts, 5, BITS[0]), random_rows(rng, actions, 3, BITS[1])
    return x, a, (rng.normal(size=1 << sum(BITS)) * 0.3).astype(np.float32), rng.gamma(4.0, 0.25, size=actions)


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC])
def test_it_is_the_best_of_all(loss):
    check_best_of_all(loss, contexts=150, actions=40)


@pytest.mark.parametrize("contexts", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("lowest", [0.0, 0.05, 0.3])
def test_every_block_of_contexts_gets_what_working_out_every_pair_gives(contexts, lowest):
    x, a, weights, factors = problem(contexts, contexts, 60)
    for found, wanted in zip(
        chosen(x, a, weights, factors, lowest=lowest), one_by_one(x, a, weights, factors, lowest=lowest), strict=True
    ):
        assert np.array_equal(found, wanted)


def test_the_first_of_equals_is_chosen_and_nothing_is_above_one():
    x, a, weights, factors = problem(0, 100, 20)
    twice = a.take(np.tile(np.arange(20), 2))
    assert np.array_equal(*(chosen(x, rows, weights, f)[0] for rows, f in ((a, factors), (twice, np.tile(factors, 2)))))
    best, scores = chosen(x, a, np.abs(weights) + 100, factors * 0 + 5)
    positive = scores == 1
    assert positive.any()
    assert scores.max() == 1
    assert np.array_equal(best, one_by_one(x, a, np.abs(weights) + 100, factors * 0 + 5)[0])


@pytest.mark.parametrize("factor", [0.0, -2.0])
def test_factors_that_are_not_positive_are_compared_as_they_are(factor):
    x, a, weights, factors = problem(1, 70, 30)
    factors[::2] = factor
    for found, wanted in zip(
        chosen(x, a, weights, factors, lowest=-0.5), one_by_one(x, a, weights, factors, lowest=-0.5), strict=True
    ):
        assert np.array_equal(found, wanted)


def test_contexts_and_actions_may_have_no_features_and_contexts_any_order():
    x, a, weights, factors = problem(2, 90, 30)
    none = np.zeros(3, dtype=np.int64)
    bare = FeatureRows.of_arrays(none, np.zeros(0, np.uint32), np.zeros(0, np.float32))
    assert chosen(bare, a, weights, factors, lowest=0.1)[0].tolist() == [int(factors.argmax())] * 2
    assert chosen(x, bare, weights, np.array([1.0, 2.0]), lowest=0.1)[1].tolist() == [0.2] * 90
    order = np.random.default_rng(0).permutation(90)
    assert np.array_equal(chosen(x, a, weights, factors, contexts=order)[0], chosen(x, a, weights, factors)[0][order])


def test_packed_columns_are_those_in_use_the_most_frequent_first():
    _, a, *_ = problem(3, 1, 50)
    (starts, places, values), used = pack_columns(a.arrays, WIDTH)
    assert np.array_equal(used[places], a.buckets)
    assert (starts is a.starts, values is a.values) == (True, True)
    assert (np.diff(np.bincount(places)) <= 0).all()
    assert len(used) == len(np.unique(a.buckets))
