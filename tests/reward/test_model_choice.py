"""``auto`` takes the kind that is right in worlds where that is clear, within its budget, and says what it found."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.reward_cells import topics

import warmstart as ws

NAMES = {"context": "x", "action": "a", "reward": "r", "time": "t"}


def log(x, a, means, rng):
    rewards = (rng.random(len(x)) < means).astype(float)
    return ws.read_events(pa.table({"x": x, "a": a, "r": rewards, "t": 1_700_000_000 + np.arange(len(x))}), **NAMES)


def by_number(events=4_000, actions=3):
    """Contexts that never repeat; the best action depends on the sign of a number."""
    rng = np.random.default_rng(0)
    z, a = rng.normal(size=events), rng.integers(actions, size=events)
    slopes = np.linspace(-2, 2, actions)
    x = np.arange(events)
    return log(x, a, 1 / (1 + np.exp(1 - slopes[a] * z)), rng), pa.table({"x": x, "z": z}), None


def by_topic(events=25_000):
    """Contexts and actions with words of a topic; rates by pair of topics, many cells, few events in each."""
    rng = np.random.default_rng(1)
    of_page, of_ad, page_words, ad_words = topics(2, pages=250, ads=30, kinds=6, words=60)
    x, a = rng.integers(250, size=events), rng.integers(30, size=events)
    rates = np.minimum(0.08 * np.exp(rng.normal(0, 1, size=(6, 6))), 0.9)
    tables = pa.table({"x": np.arange(250), "words": page_words}), pa.table({"a": np.arange(30), "words": ad_words})
    return log(x, a, rates[of_page[x], of_ad[a]], rng), *tables


def test_numbers_and_contexts_that_never_repeat_are_judged_by_loss_and_logistic_wins():
    events, contexts, _ = by_number()
    learned = ws.fit(events, contexts=contexts, model="auto", weight_bits=12).learned
    assert learned.model == "logistic"
    assert learned.models_compared_by == "loss"
    assert learned.models_tried["logistic"].loss < learned.models_tried["cells"].loss - 0.02
    assert "Model: logistic" in str(learned)
    assert all(one.seconds > 0 for one in learned.models_tried.values())


@pytest.mark.slow
def test_topics_of_words_are_judged_by_value_and_the_low_rank_model_wins():
    events, contexts, actions = by_topic()
    learned = ws.fit(events, contexts=contexts, actions=actions, model="auto", weight_bits=14).learned
    assert learned.model == "low-rank"
    assert learned.models_compared_by == "value"
    assert learned.models_tried["low-rank"].loss < learned.models_tried["cells"].loss


def test_without_features_cells_are_no_worse_than_any():
    rng = np.random.default_rng(3)
    x, a = rng.integers(20, size=20_000), rng.integers(5, size=20_000)
    events = log(x, a, rng.uniform(0.05, 0.6, size=(20, 5))[x, a], rng)
    tried = ws.fit(events, model="auto", weight_bits=8).learned.models_tried
    assert tried["cells"].value >= 0.99 * max(one.value for one in tried.values() if one.value is not None)


def test_no_further_kind_is_begun_when_the_time_is_over():
    events, contexts, _ = by_number(600)
    learned = ws.fit(events, contexts=contexts, model="auto", weight_bits=10, time_budget=1e-9).learned
    assert list(learned.models_tried) == ["product"]
    assert learned.model == "product"


def test_a_kind_that_does_not_suit_the_log_is_named_with_its_reason():
    rng = np.random.default_rng(0)
    x, a = rng.integers(5, size=4_000), rng.integers(1_100, size=4_000)
    learned = ws.fit(log(x, a, 0.3, rng), model="auto", weight_bits=8).learned
    assert learned.models_tried["logistic"].value is None
    assert "too much" in learned.models_tried["logistic"].why
    assert "too much" in str(learned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "forest"}, "no model 'forest'"),
        ({"model": "low-rank", "learn_from": "events"}, "learn_from='events' is the paper's product"),
        ({"model": "auto", "cross_only": True}, "cross_only is the paper's product"),
        ({"model": "auto", "time_budget": 0}, "time_budget must be above 0"),
    ],
)
def test_wrong_calls(options, message):
    events, contexts, _ = by_number(200)
    with pytest.raises(ws.UsageError, match=message):
        ws.fit(events, contexts=contexts, **options)
