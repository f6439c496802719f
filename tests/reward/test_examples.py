"""The weights of cells and of events: 1 / max(propensity, tau), with mean 1."""

import numpy as np
import pytest

from warmstart.reward import Examples, event_stream
from warmstart.reward.learner import cell_stream, repeat_if_short
from warmstart.reward.product import Stream


@pytest.fixture
def examples():
    n = np.array([90.0, 9.0, 1.0, 50.0, 50.0])
    contexts = np.array([0, 0, 0, 1, 1])
    total = np.bincount(contexts, weights=n)[contexts]
    return Examples(contexts, np.array([0, 1, 2, 0, 2]), n, n / 10, n / 10, total)


@pytest.mark.parametrize("tau", [1.0, 0.3, 0.05, 0.01])
def test_a_cell_weighs_its_events_over_its_propensity(examples, tau):
    weights = np.array([n / max(n / 100, tau) for n in (90, 9, 1, 50, 50)])
    stream = cell_stream(examples, tau)
    assert stream.importance == pytest.approx(weights / weights.mean(), rel=1e-6)
    assert stream.targets == pytest.approx(np.full(5, 0.1), rel=1e-6)


def test_without_weights_a_cell_weighs_as_many_events_as_it_has(examples):
    assert cell_stream(examples, 1.0).importance == pytest.approx(examples.n / examples.n.mean(), rel=1e-6)


@pytest.mark.parametrize("tau", [1.0, 0.05])
def test_an_event_weighs_one_over_the_propensity_of_its_cell(examples, tau):
    contexts, actions = np.array([1, 0, 0, 1]), np.array([2, 2, 0, 0])
    stream = event_stream(examples, contexts, actions, np.array([1, 0, 0, 1]), tau)
    weights = np.array([1 / max(p, tau) for p in (0.5, 0.01, 0.9, 0.5)])
    assert stream.importance == pytest.approx(weights / weights.mean(), rel=1e-6)


def test_some_contexts_are_kept_whole(examples):
    kept = [examples.sample_contexts(3, 2, seed) for seed in range(20)]
    sizes = {len(found) for found in kept}
    assert sizes <= {0, 2, 3, 5}
    assert len(sizes) > 1
    assert examples.sample_contexts(5, 2, 0) is examples


def test_a_small_stream_is_repeated_and_a_large_one_is_not():
    numbers = np.arange(1700)
    stream = Stream(numbers, numbers, numbers.astype(np.float32), np.ones(1700, dtype=np.float32))
    assert len(repeat_if_short(stream)) == 3400
    large = Stream(*(np.tile(part, 3) for part in (stream.contexts, stream.actions, stream.targets, stream.importance)))
    assert repeat_if_short(large) is large


@pytest.mark.parametrize("fractional", [False, True])
def test_events_are_divided_once_each_and_places_find_them_again(examples, fractional):
    n, won = examples.n, examples.reward_sum if fractional else np.round(examples.reward_sum)
    whole = Examples(examples.contexts, examples.actions, n, won, won / (2 if fractional else 1), examples.context_n)
    divisions = whole.divided(2, 0)
    for sums in ("n", "reward_sum", "reward_sq_sum"):
        found = np.zeros(len(whole))
        for _, later in divisions:
            found[whole.places(later)] += getattr(later, sums)
        assert found == pytest.approx(getattr(whole, sums))
    for earlier, later in divisions:
        assert earlier.n.sum() + later.n.sum() == n.sum()
        assert (later.reward_sum <= later.n).all()
        assert later.context_n == pytest.approx(np.bincount(later.contexts, later.n)[later.contexts])
        at = earlier.places(later)
        assert np.array_equal(earlier.actions[at[at >= 0]], later.actions[at >= 0])
        if fractional:
            assert not set(earlier.contexts) & set(later.contexts)
