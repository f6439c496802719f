"""Where a learned policy departs from logging, counted by hand on small logs."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.pipeline.departure import departure_of
from warmstart.reward import Examples, LearnedRewards

NAMES = {"context": "page", "action": "ad", "reward": "click"}


def examples(cells):
    """Cells of (context, action, events, rewards)."""
    x, a, n, rewards = (np.array(column) for column in zip(*cells, strict=True))
    context_n = np.bincount(x, n)[x]
    return Examples(x, a, n.astype(float), rewards.astype(float), rewards.astype(float), context_n)


def learned(scores, factors, predictions=None):
    """What was learned, if the model expects of each cell its score."""
    scores = np.array(scores)
    return LearnedRewards(
        None, np.array(factors), 0.0, scores, scores if predictions is None else np.array(predictions)
    )


def test_shares_of_traffic_by_hand():
    cells = examples([(0, 0, 60, 6), (0, 1, 20, 10), (1, 0, 10, 1), (2, 1, 5, 1), (2, 0, 5, 0)])
    scores = np.array([0.1, 0.5, 0.1, 0.2, 0.1])
    # Of context 1 there is one action; in context 2 no action is feasible.
    found = departure_of(cells, learned(scores, [0.9, 1.2]), np.array([1, 2]), pa.array(["a", "b"]))
    assert (found.same, found.departs, found.contexts) == (0.3, 0.8, 1)
    assert (found.one_action, found.undecided) == (0.1, pytest.approx(0.1))
    assert found.expected == pytest.approx((80 * 0.5 + 10 * 0.1) / 90)
    assert found.expected_of_logging == pytest.approx((60 * 0.1 + 20 * 0.5 + 10 * 0.1) / 90)
    assert found.mean_reward == pytest.approx(17 / 90)
    told = {one.action: (one.logging, one.policy, one.factor) for one in found.actions}
    assert told == {"a": (0.75, 0.1, 0.9), "b": (0.25, 0.8, 1.2)}
    assert [one.action for one in found.actions] == ["a", "b"]


def test_a_choice_that_was_shown_as_often_as_any_does_not_depart():
    cells = examples([(0, 0, 5, 1), (0, 1, 5, 2)])
    found = departure_of(cells, learned([0.2, 0.4], [1, 1]), np.array([1]), pa.array(["a", "b"]))
    assert (found.same, found.departs, found.contexts, found.undecided) == (0.5, 0.0, 0, 0.0)


def test_what_drives_the_choices_by_hand():
    # Context 0 (40 events) and 1 (10): the second action is chosen, the first was shown most. In 2 they agree.
    cells = examples([(0, 0, 30, 6), (0, 1, 10, 4), (1, 0, 6, 1), (1, 1, 4, 2), (2, 0, 20, 4), (2, 1, 10, 1)])
    predictions = np.array([0.2, 0.3, 0.2, 0.6, 0.2, 0.3])
    # By action: .2 and (10 * .3 + 4 * .6 + 10 * .3) / 24 = .35, times factors of 1 and 1.2; by cell: 1, or 1.5 once.
    factors, records = [1.0, 1.2], np.array([1, 1.5, 1, 1, 1, 1])
    scores = predictions * np.array(factors)[cells.actions] * records
    best = np.array([1, 3, 4])
    action, match, record = departure_of(
        cells, learned(scores, factors, predictions), best, pa.array(["a", "b"])
    ).drivers
    assert [one.name for one in (action, match, record)] == ["action", "match", "record"]
    assert action.factor == pytest.approx(0.35 * 1.2 / 0.2)
    assert match.factor == pytest.approx((0.3 / 0.35) ** 0.8 * (0.6 / 0.35) ** 0.2)
    assert record.factor == pytest.approx(1.5**0.8)
    assert action.factor * match.factor * record.factor == pytest.approx((0.54 / 0.2) ** 0.8 * (0.72 / 0.2) ** 0.2)
    assert (action.largest, match.largest, record.largest) == (1, 0, 0)


def test_a_policy_says_where_it_departs_and_keeps_that_on_disk(tmp_path):
    pages = ["p"] * 100 + ["q"] * 50
    ads = ["a"] * 80 + ["b"] * 20 + ["a"] * 50
    clicks = [0] * 78 + [1] * 2 + [1] * 15 + [0] * 5 + [0] * 45 + [1] * 5
    events = ws.read_events(pa.table({"page": pages, "ad": ads, "click": clicks}), **NAMES)
    policy = ws.fit(events, weight_bits=8)
    found = policy.learned.departure
    assert (found.contexts, found.departs, found.one_action) == (1, pytest.approx(100 / 150), pytest.approx(50 / 150))
    assert found.same == pytest.approx(70 / 150)
    assert ws.load_policy(ws.save_policy(policy, tmp_path / "policy")).learned == policy.learned
    assert any("another action than the one logging showed most" in line for line in policy.summary())


def test_a_policy_of_an_earlier_version_has_none(tmp_path):
    events = ws.read_events(pa.table({"page": ["p"] * 4, "ad": ["a", "b"] * 2, "click": [1, 0, 1, 0]}), **NAMES)
    policy = ws.fit(events, weight_bits=8)
    del policy.report["departure"]
    assert policy.learned.departure is None
    assert len(policy.summary()) == 4
    assert not [table for table in policy.learned.tables if "Actions" in table.title]
    page = policy.learned.save(tmp_path / "fit.html")
    assert "was not counted" in page.read_text()
