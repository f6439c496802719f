"""``auto`` takes the kind that is right in worlds where that is clear, within its budget, and says what it found."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge
from tests.support.reward_cells import cells, topics

import warmstart as ws
from warmstart.reward import FitSettings, budget, model_choice

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


def test_when_the_time_is_over_only_the_cheapest_kind_is_tried_and_the_others_are_named():
    events, contexts, _ = by_number(600)
    policy = ws.fit(events, contexts=contexts, model="auto", weight_bits=10, time_budget=1e-9)
    assert policy.learned.model == "cells"
    assert policy.learned.models_tried.keys() == {"product", "low-rank", "logistic", "trees", "cells"}
    line = next(line for line in policy.summary() if "Not compared" in line)
    for kind in ("product", "low-rank", "logistic", "trees"):
        assert f"{kind} (left out: " in line


def test_a_kind_that_would_take_longer_than_what_is_left_is_not_begun(monkeypatch):
    begun = []
    seconds = {"product": 0.0, "low-rank": 0.0, "logistic": 0.0, "trees": 3_000.0}
    monkeypatch.setattr(budget, "expected_seconds", lambda learner, *_: seconds[learner.settings.model])
    tried = model_choice.try_out
    monkeypatch.setattr(
        model_choice, "try_out", lambda one, *rest: begun.append(one.settings.model) or tried(one, *rest)
    )
    events, contexts, _ = by_number(600)
    learned = ws.fit(events, contexts=contexts, model="auto", weight_bits=10, fit_tau=1.0, time_budget=600).learned
    assert begun == ["cells", "product", "low-rank", "logistic"]
    assert learned.models_tried["trees"].loss is None
    # The trial with 480 cells, and then all 600.
    assert "about 6.75e+03 s" in learned.models_tried["trees"].why


class Clock:
    """A clock that only learning moves: two seconds, and a hundredth for each cell."""

    def __init__(self):
        self.now = 0.0
        self.learned = []

    def perf_counter(self):
        return self.now

    def learner(self, kind="trees"):
        def learn(cells, tau):
            self.learned.append(len(cells))
            self.now += 2 + len(cells) / 100

        return SimpleNamespace(learn=learn, settings=FitSettings(model=kind), x=range(4_000))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budget, "time", clock)
    return clock


def many_cells(size=4_000):
    return cells(np.arange(size), np.arange(size) % 2, np.full(size, 0.5), 2, seed=5)


def test_the_time_of_a_kind_is_expected_from_a_few_of_its_cells(clock):
    halves = [(many_cells(), many_cells())]
    assert budget.expected_seconds(clock.learner(), halves, 1.0, 1e9) == pytest.approx(2 + 40, rel=1e-6)
    assert max(clock.learned) < 500
    clock.learned.clear()
    assert budget.expected_seconds(clock.learner(), halves * 5, 1.0, 1.0) > 1.0
    assert len(clock.learned) == 1


def test_time_for_the_last_learning_is_kept(clock):
    """After a trial of 10 s, learning it costs 40 s: a product three times that."""
    found = budget.Budget(60.0, learned_later=4.0, begun=0.0, costs={"logistic": 10.0})
    assert found.lacks_time_to_learn(["logistic"]) is None
    clock.now = 30.0
    assert "about 40 s" in found.lacks_time_to_learn(["logistic"])
    product = budget.Budget(60.0, learned_later=4.0, begun=0.0, costs={"product": 10.0})
    clock.now = 0.0
    assert "about 120 s" in product.lacks_time_to_learn(["product"])


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
        ({"model": "trees", "rates": [0.1]}, "rates is for model='product', and not for model='trees'"),
        ({"model": "cells", "loss": "logistic"}, "loss='logistic' is for model='product', and not for model='cells'"),
        ({"model": Ridge(), "learn_from": "events"}, "learn_from='events' is .* not for a model of your own"),
        ({"time_budget": 5}, "time_budget is for model='auto', and not for model='product'"),
        ({"device": "gpu"}, "no device 'gpu'"),
        ({"device": "cuda", "model": "trees"}, "model='trees' learns on CPUs"),
        ({"device": "cuda", "model": Ridge()}, "A model of your own learns on CPUs"),
    ],
)
def test_wrong_calls(options, message):
    events, contexts, _ = by_number(200)
    with pytest.raises(ws.UsageError, match=message):
        ws.fit(events, contexts=contexts, **options)


def test_options_of_the_product_serve_auto_too():
    events, contexts, _ = by_number(200)
    assert ws.fit(events, contexts=contexts, model="auto", rates=[0.1], weight_bits=8).decisions.num_rows


def test_a_gpu_that_is_asked_for_and_not_there_is_an_error(monkeypatch):
    events, contexts, _ = by_number(200)
    monkeypatch.setattr("warmstart.kernels.device.find_spec", {}.get)
    with pytest.raises(ws.DeviceError, match="CuPy is not installed"):
        ws.fit(events, contexts=contexts, device="cuda")
    policy = ws.fit(events, contexts=contexts, weight_bits=8)
    with pytest.raises(ws.DeviceError, match="CuPy is not installed"):
        replace(policy, device="cuda").choose_table(contexts)
