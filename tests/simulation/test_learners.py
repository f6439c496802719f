"""Learners: the choices that follow from what they have seen, and settings that make no sense."""

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta

import warmstart as ws
from warmstart.core import MICROSECONDS_PER_DAY
from warmstart.simulation.learners import Learner

KINDS = ("thompson", "epsilon-greedy", "greedy", "nightly")
EVENTS, REWARDS = np.array([30, 20, 5, 0]), np.array([6, 6, 0, 0])
DRAWS = 40_000


def learner_of(kind, **settings):
    """A learner of one context that has taken in EVENTS and REWARDS."""
    learner = Learner(ws.LearnerSettings(kind=kind, prior_mean=0.1, prior_events=5, **settings), np.arange(4)[None])
    place = np.repeat(np.arange(4), EVENTS)
    reward = np.concatenate([np.arange(n) < s for n, s in zip(EVENTS, REWARDS, strict=True)])
    learner.observe(np.zeros_like(place), place, reward)
    learner.begin(1)
    return learner


def shares(learner, available=(True,) * 4, preference=(0.0,) * 4):
    x = np.zeros(DRAWS, dtype=int)
    rng = np.random.default_rng(3)
    chosen = learner.choose(x, np.tile(available, (DRAWS, 1)), np.tile(preference, (DRAWS, 1)), rng)
    return np.bincount(chosen, minlength=4) / DRAWS


def chances_of_being_best(available):
    """The integral of one action's posterior density times the distribution functions of the others."""
    alpha, losses = REWARDS + 0.5, EVENTS - REWARDS + 4.5
    edges = np.linspace(0, 1, 100_001)
    middle = (edges[1:] + edges[:-1]) / 2
    chances = np.zeros(4)
    for a in np.flatnonzero(available):
        others = [betainc(alpha[b], losses[b], middle) for b in np.flatnonzero(available) if b != a]
        chances[a] = np.diff(beta.cdf(edges, alpha[a], losses[a])) @ np.prod(others, axis=0)
    return chances


@pytest.mark.parametrize("available", [(True,) * 4, (True, False, True, True)])
def test_thompson_shows_an_action_as_often_as_it_is_the_best_in_the_posterior(available):
    """5 standard errors of a share among 40 k are under .0125."""
    expected = chances_of_being_best(available)
    assert expected.sum() == pytest.approx(1, abs=1e-3)
    assert shares(learner_of("thompson"), available).tolist() == pytest.approx(expected.tolist(), abs=0.0125)


def test_nightly_is_the_softmax_of_log_odds_of_shrunk_means():
    overall = (REWARDS + 5 * 0.1) / (EVENTS + 5)
    mean = (REWARDS + 5 * overall) / (EVENTS + 5)
    score = (mean / (1 - mean)) ** (1 / 0.5)
    found = shares(learner_of("nightly", temperature=0.5))
    assert found.tolist() == pytest.approx((score / score.sum()).tolist(), abs=0.0125)


def test_nightly_borrows_from_other_contexts():
    """Seen in context 1 only, action 1 is preferred in context 0 too."""
    learner = Learner(ws.LearnerSettings(kind="nightly", temperature=0.01), np.tile(np.arange(2), (2, 1)))
    learner.observe(np.ones(100, dtype=int), np.repeat([0, 1], 50), np.repeat([0.1, 0.6], 50))
    learner.begin(1)
    choice = learner.choose(
        np.zeros(50, dtype=int), np.ones((50, 2), bool), np.zeros((50, 2)), np.random.default_rng(0)
    )
    assert (choice == 1).all()


def test_greedy_takes_the_largest_shrunk_mean_among_the_available():
    assert shares(learner_of("greedy")).tolist() == [0, 1, 0, 0]
    assert shares(learner_of("greedy"), (True, False, True, True)).tolist() == [1, 0, 0, 0]
    assert shares(learner_of("greedy"), (False, False, True, True)).tolist() == [0, 0, 0, 1]


def test_ties_go_to_the_preferred_action_and_then_to_the_first():
    learner = Learner(ws.LearnerSettings(kind="greedy"), np.tile(np.arange(4), (2, 1)))
    learner.observe(np.array([1]), np.array([0]), np.array([1.0]))
    learner.begin(1)
    assert shares(learner, preference=(0.1, 0.2, 0.4, 0.3)).tolist() == [0, 0, 1, 0]
    assert shares(learner, (True, True, False, True), (0.1, 0.2, 0.4, 0.3)).tolist() == [0, 0, 0, 1]
    assert shares(learner).tolist() == [1, 0, 0, 0]


def test_epsilon_greedy_explores_at_the_stated_rate_among_the_available():
    """5 standard errors of a share among 40 k are under .0125."""
    found = shares(learner_of("epsilon-greedy", epsilon=0.4))
    assert found.tolist() == pytest.approx([0.1, 0.7, 0.1, 0.1], abs=0.0125)
    found = shares(learner_of("epsilon-greedy", epsilon=0.4), (True, False, False, True))
    assert found.tolist() == pytest.approx([0.8, 0, 0, 0.2], abs=0.0125)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_observed_counts_from_the_next_period_on(kind):
    learner = learner_of(kind)
    before = shares(learner)
    zeros = np.zeros(5_000, dtype=int)
    learner.observe(zeros, zeros + 3, zeros + 1)
    learner.begin(1)
    assert shares(learner).tolist() == before.tolist()
    learner.begin(2)
    assert shares(learner)[3] > 0.5 > before[3]


def test_the_prior_mean_is_that_of_all_events_if_none_is_given():
    """An unseen action then beats one below the mean, and not one above it."""
    learner = Learner(ws.LearnerSettings(kind="greedy"), np.tile(np.arange(3), (2, 1)))
    learner.observe(np.zeros(200, dtype=int), np.repeat([0, 1], 100), np.tile([0.0, 0.0, 0.0, 0.4], 50))
    learner.observe(np.ones(200, dtype=int), np.repeat([0, 1], 100), np.repeat([0.05, 0.4], 100))
    learner.begin(1)
    choice = learner.choose(np.array([0, 1]), np.ones((2, 3), bool), np.zeros((2, 3)), np.random.default_rng(0))
    assert choice.tolist() == [2, 1]


def test_periods_are_parts_of_days_days_or_weeks():
    time = (np.array([0, 0.4, 0.5, 1, 6.99, 7, 13.9, 14]) * MICROSECONDS_PER_DAY).astype(np.int64)
    expected = {
        1: [0, 0, 0, 1, 6, 7, 13, 14],
        2: [0, 0, 1, 2, 13, 14, 27, 28],
        1 / 7: [0, 0, 0, 0, 0, 1, 1, 2],
        0.143: [0, 0, 0, 0, 0, 1, 1, 2],
        "event": list(range(8)),
    }
    for often, periods in expected.items():
        settings = ws.LearnerSettings(kind="greedy", updates_per_day=often)
        assert settings.periods(time).tolist() == periods


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "ucb"}, "must be one of thompson, epsilon-greedy, greedy, nightly, and is 'ucb'"),
        ({"updates_per_day": 0}, "updates_per_day must be a number"),
        ({"updates_per_day": 1.5}, "whole number, or one over"),
        ({"updates_per_day": 0.3}, "whole number, or one over"),
        ({"updates_per_day": "hour"}, "updates_per_day must be a number"),
        ({"epsilon": 1.1}, "epsilon must be"),
        ({"temperature": 0}, "temperature must be"),
        ({"prior_mean": 0}, "prior_mean must be"),
        ({"prior_events": 0}, "prior_events must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ws.UsageError, match=message):
        ws.LearnerSettings(**{"kind": "greedy", **settings})
