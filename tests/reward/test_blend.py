"""Blends of models: shares that explain held-out rewards, never worse by much, and learned as they were tried."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.reward_cells import cells, learner
from tests.support.saved_policies import NAMES

import warmstart as ws
from warmstart.reward import blended, learned_shares
from warmstart.reward.trial import Part, judged

CONTEXTS, ACTIONS = 300, 4


def trial(predicted, truth, n, cells_known=CONTEXTS * ACTIONS):
    """A trial of predictions that are given."""
    x, a = np.repeat(np.arange(CONTEXTS), ACTIONS)[:cells_known], np.tile(np.arange(ACTIONS), CONTEXTS)[:cells_known]
    earlier, later = (cells(x, a, truth[:cells_known], n, seed) for seed in (0, 1))
    chances = predicted[:cells_known].astype(np.float32)
    return judged(None, [Part(learner(CONTEXTS, ACTIONS), earlier, later, chances, chances, earlier.places(later))])


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(3).uniform(0.05, 0.5, CONTEXTS * ACTIONS)


def test_a_kind_that_is_right_gets_nearly_all_and_the_others_are_left_out(truth):
    trials = {"product": trial(0.95 - truth, truth, 200), "trees": trial(truth, truth, 200)}
    shares = learned_shares(trials)
    assert shares["trees"] > 0.95
    assert sum(shares.values()) == pytest.approx(1)
    assert blended(trials) is None


def test_two_kinds_that_err_apart_share_and_their_mean_loses_less(truth):
    rng = np.random.default_rng(5)
    errs = [np.clip(truth + rng.normal(0, 0.1, len(truth)), 0.01, 0.99) for _ in range(2)]
    trials = {kind: trial(one, truth, 50) for kind, one in zip(("product", "trees"), errs, strict=True)}
    shares, both = blended(trials)
    assert shares["product"] == pytest.approx(0.5, abs=0.1)
    later = [both.parts[0].later]
    assert both.loss(later) < min(one.loss(later) for one in trials.values())
    expected = shares["product"] * errs[0] + shares["trees"] * errs[1]
    assert both.parts[0].of_later == pytest.approx(expected, rel=1e-5)


def test_few_events_leave_shares_nearly_equal(truth):
    wrong = np.full(len(truth), 0.9)
    shares = learned_shares({"cells": trial(wrong, truth, 1, 12), "logistic": trial(truth, truth, 1, 12)})
    assert 0.5 < shares["logistic"] < 0.8


def curved(events=2_500):
    """Rewards are a line in one number and a bump in another: neither kind of model says all of it."""
    rng = np.random.default_rng(0)
    z, bump, a = rng.normal(size=events), rng.normal(size=events), rng.integers(3, size=events)
    line = 1 / (1 + np.exp(-1.5 * z * (a - 1)))
    means = 0.5 * line + 0.4 * ((np.abs(bump) > 0.7) == (a == 2))
    log = {"page": np.arange(events), "ad": a, "click": (rng.random(events) < means).astype(float)}
    log["at"] = 1_700_000_000 + np.arange(events)
    return ws.read_events(pa.table(log), **{**NAMES, "context": "page"}), pa.table(
        {"page": np.arange(events), "z": z, "bump": bump}
    )


def test_auto_learns_the_blend_that_it_tried_says_so_and_saves_it(tmp_path):
    events, contexts = curved()
    policy = ws.fit(events, contexts=contexts, model="auto", weight_bits=12)
    learned = policy.learned
    assert learned.model == "blend"
    assert sum(learned.shares.values()) == pytest.approx(1)
    assert len(policy.model.parts) == len(learned.shares) > 1
    tried = learned.models_tried
    assert tried["blend"].loss < min(one.loss for name, one in tried.items() if name != "blend" and one.loss)
    assert "Model: blend of " in str(learned)
    again = ws.load_policy(policy.save(tmp_path / "policy"))
    assert again.learned.shares == learned.shares
    asked = contexts.slice(0, 50)
    assert again.choose_table(asked).equals(policy.choose_table(asked))
