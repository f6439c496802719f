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
    known = learn_estimated(drawn, truth, CONTEXTS, ACTIONS).rates
    assert error(known, truth) < 0.3 * error(shrunk_rates(drawn), truth)


def uneven(rng, slope, spread=0.3, events=60_000):
    """Cells of logging shares that differ much; mean rewards grow with a power of the share, and cells differ."""
    shares = rng.dirichlet(np.ones(ACTIONS), CONTEXTS)
    means = np.minimum(0.1 * shares**slope * np.exp(rng.normal(-(spread**2) / 2, spread, shares.shape)), 0.9)
    n = rng.multinomial(events, (shares / CONTEXTS).ravel()).reshape(shares.shape).astype(float)
    rewards = rng.binomial(n.astype(int), means).astype(float)
    x, a = np.nonzero(n)
    return Examples(x, a, n[x, a], rewards[x, a], rewards[x, a], n.sum(axis=1)[x]), means[x, a]


def estimated(drawn, **options):
    rate = np.full(len(drawn), drawn.reward_sum.sum() / drawn.n.sum())
    return learn_estimated(drawn, rate, CONTEXTS, ACTIONS, **options)


def test_what_logging_prefers_is_expected_to_be_better_as_far_as_the_log_says():
    for slope in (0.0, 0.3, -0.2):
        drawn, truth = uneven(np.random.default_rng(3), slope)
        found, plain = estimated(drawn), estimated(drawn, leaning=False)
        assert abs(found.slope - slope) < 3 * found.error < 0.15
        assert plain.slope == plain.error == 0
        if slope:
            assert error(found.rates, truth) < 0.8 * error(plain.rates, truth)


def test_how_much_cells_differ_is_found_where_shares_are_uneven():
    found = [estimated(uneven(np.random.default_rng(seed), 0.0, events=200_000)[0]) for seed in range(5)]
    # The variance of factors, of which half is the inverse, times that of a reward over its mean.
    assert abs(np.mean([one.spread / one.half for one in found]) / (np.exp(0.3**2) - 1) - 1) < 0.15


def test_rates_that_are_plausible_lie_around_those_expected_as_far_as_the_truth_does():
    drawn, truth = uneven(np.random.default_rng(4), 0.2)
    found, rng = estimated(drawn), np.random.default_rng(0)
    some = np.stack([found.drawn(rng) for _ in range(200)])
    assert abs(some.mean() / found.rates.mean() - 1) < 0.02
    z = (truth - some.mean(axis=0)) / some.std(axis=0)
    assert 0.8 < z.std() < 1.2
    assert abs(z.mean()) < 0.2


def test_without_a_reward_none_is_expected():
    drawn, _ = uneven(np.random.default_rng(5), 0.0, events=500)
    nothing = Examples(drawn.contexts, drawn.actions, drawn.n, 0 * drawn.n, 0 * drawn.n, drawn.context_n)
    found = estimated(nothing)
    assert not found.rates.any()
    assert not found.drawn(np.random.default_rng(0)).any()
