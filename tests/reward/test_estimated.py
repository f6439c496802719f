"""Factors shrunk by what the rewards say of how much they differ."""

import numpy as np

from warmstart.reward import Examples, learn_estimated, shrunk_rates

CONTEXTS, ACTIONS = 200, 5


def examples(rng, means, events):
    n = rng.multinomial(events, np.full(means.size, 1 / means.size)).reshape(means.shape).astype(float)
    rewards = rng.binomial(n.astype(int), means).astype(float)
    x, a = np.nonzero(n)
    return Examples(x, a, n[x, a], rewards[x, a], rewards[x, a], n.sum(axis=1)[x]), means[x, a]


def error(rates, truth):
    return float(((rates - truth) ** 2).mean())


def test_where_only_chance_differs_rates_are_all_but_the_mean():
    drawn, truth = examples(np.random.default_rng(0), np.full((CONTEXTS, ACTIONS), 0.1), 40_000)
    rates = shrunk_rates(drawn)
    assert np.abs(rates / truth - 1).mean() < 0.1
    assert error(rates, truth) < error(drawn.means, truth) / 10


def test_actions_that_differ_are_told_apart_and_cells_that_differ_are_too():
    rng = np.random.default_rng(1)
    by_action = 0.1 * np.exp(np.tile(np.linspace(-0.6, 0.6, ACTIONS), (CONTEXTS, 1)))
    drawn, truth = examples(rng, by_action, 40_000)
    assert error(shrunk_rates(drawn), truth) < 0.05 * error(np.full(len(truth), truth.mean()), truth)
    by_cell = np.minimum(0.1 * np.exp(rng.normal(0, 0.6, (CONTEXTS, ACTIONS))), 0.9)
    drawn, truth = examples(rng, by_cell, 40_000)
    assert error(shrunk_rates(drawn), truth) < 0.8 * error(drawn.means, truth)


def test_a_model_that_is_right_is_followed():
    rng = np.random.default_rng(2)
    means = np.minimum(0.1 * np.exp(rng.normal(0, 0.6, (CONTEXTS, ACTIONS))), 0.9)
    drawn, truth = examples(rng, means, 20_000)
    known = learn_estimated(drawn, truth, CONTEXTS, ACTIONS).apply(drawn, truth)
    assert error(known, truth) < 0.3 * error(shrunk_rates(drawn), truth)
