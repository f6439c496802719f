"""Misses over drawn rewards, for the expectation given contexts and actions, at delta .05 and .5.

Contexts and actions are drawn once; rewards many times. On cells this needs no log: the sums of a cell are binomial.
"""

import numpy as np
import pytest
from studies.looseness import ends_and_truth

import warmstart as ws
from warmstart.estimators.gain import GainSums, gain_ends
from warmstart.estimators.intervals import METHODS, Coefficients, TermSums, interval, normal_ends
from warmstart.simulation import TableWorld


def window(seed, *, events_per_day=300):
    """A window's counts n[x, a] and the coefficients of a policy that takes the best mean among actions shown."""
    world = TableWorld.month(contexts=12, actions=8, events_per_day=events_per_day, seed=seed)
    log = world.draw(seed=seed)
    n = np.zeros_like(world.reward_means)
    x = [world.contexts.index(c) for c in log["context"].to_pylist()]
    a = [world.actions.index(c) for c in log["action"].to_pylist()]
    np.add.at(n, (x, a), 1)
    return world, n


def coefficients(world, n, tau):
    h = np.eye(n.shape[1])[np.where(n > 0, world.reward_means, -1).argmax(axis=1)]
    p = n / np.maximum(n.sum(axis=1, keepdims=True), 1)
    return h / np.maximum(p, tau)


def terms(c, n, s, tau):
    total = n.sum()
    sums = ((c * s).sum(), (c * c * s).sum(), (c * n).sum(), (c * c * n).sum(), (c * (n > 0)).max(), 1 / tau)
    rewarded = (c > 0) & (s > 0)
    return TermSums(total, *sums, Coefficients(c[rewarded], c[rewarded], s[rewarded].astype(float)))


def misses(method, delta, *, draws, tau=0.05, seed=0):
    world, n = window(seed)
    c = coefficients(world, n, tau)
    truth = (c * n * world.reward_means).sum() / n.sum()
    rng = np.random.default_rng(seed)
    below = above = 0
    for _ in range(draws):
        s = rng.binomial(n.astype(int), world.reward_means)
        found = interval(terms(c, n, s, tau), delta=delta, method=method)
        below += found.upper < truth
        above += found.lower > truth
    return below / draws, above / draws


@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_each_end_misses_at_most_half_of_delta(method, delta):
    """1,000 draws; an end that misses exactly delta/2 would fail in under 1 run of 1,000 (3.1 standard errors)."""
    draws = 1000
    allowed = delta / 2 + 3.1 * np.sqrt(delta / 2 * (1 - delta / 2) / draws)
    below, above = misses(method, delta, draws=draws)
    assert below <= allowed
    assert above <= allowed


def test_gamma_is_close_to_its_level_so_this_test_has_power():
    """At delta = .5 the approximate interval misses a quarter on each side, within a tenth."""
    below, above = misses("gamma", 0.5, draws=2000)
    assert 0.1 < above < 0.3
    assert 0.1 < below < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_each_end_misses_at_most_half_of_delta_in_many_worlds(method, delta, seed):
    draws = 5000
    allowed = delta / 2 + 3.9 * np.sqrt(delta / 2 * (1 - delta / 2) / draws)
    for tau in (0.01, 0.1, 0.5):
        below, above = misses(method, delta, draws=draws, tau=tau, seed=seed)
        assert below <= allowed
        assert above <= allowed


def check_worlds(method, delta, worlds):
    """One window and one draw of rewards in each of many worlds; several sizes and taus."""
    below = above = 0
    for seed in range(worlds):
        events, tau = [3_000, 30_000][seed % 2], [0.01, 0.05, 0.2][seed % 3]
        lower, upper, truth = ends_and_truth(seed, events=events, tau=tau, delta=delta, method=method)
        below += upper < truth
        above += lower > truth
    allowed = worlds * (delta / 2 + 3.3 * np.sqrt(delta / 2 * (1 - delta / 2) / worlds))
    assert below <= allowed
    assert above <= allowed


@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_each_end_misses_at_most_half_of_delta_over_worlds(method, delta):
    check_worlds(method, delta, worlds=200)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_each_end_misses_at_most_half_of_delta_over_a_thousand_worlds(method, delta):
    check_worlds(method, delta, worlds=1000)


def misses_of_evaluate(delta, worlds):
    """The same through reading, cells and evaluate, for the expectation given contexts and actions."""
    below = above = 0
    ratios = []
    for seed in range(worlds):
        world = TableWorld.month(contexts=6, actions=5, events_per_day=60, seed=seed)
        events = ws.read_events(world.draw(seed=seed), context="context", action="action", reward="reward")
        n = np.zeros_like(world.reward_means)
        for row in events.engine.fetch(events.table.group_by("context_0", "action").agg(n=events.table.count())):
            n[world.contexts.index(row["context_0"]), world.actions.index(row["action"])] = row["n"]
        tau = [0.02, 0.1][seed % 2]
        c = coefficients(world, n, tau)
        h = world.policy_from_array(np.where(c > 0, 1.0, 0.0))
        found = ws.evaluate({"h": h}, events, tau=tau, delta=delta)["h"]
        truth = (c * n * world.reward_means).sum() / n.sum()
        below += found.upper < truth
        above += found.lower > truth
        ratios.append(found.value / truth)
    assert abs(np.mean(ratios) - 1) < 3.3 * np.std(ratios, ddof=1) / np.sqrt(worlds)
    return below / worlds, above / worlds


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_evaluate_misses_at_most_half_of_delta_over_worlds(delta):
    below, above = misses_of_evaluate(delta, 40)
    assert max(below, above) <= delta / 2 + 3.3 * np.sqrt(delta / 2 * (1 - delta / 2) / 40)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_evaluate_misses_at_most_half_of_delta_over_a_thousand_worlds(delta):
    below, above = misses_of_evaluate(delta, 1000)
    assert max(below, above) <= delta / 2 + 3.3 * np.sqrt(delta / 2 * (1 - delta / 2) / 1000)


def test_the_gain_misses_no_more_than_half_of_delta_and_is_not_twice_as_wide_as_the_normal_interval():
    """30 k events, 500 draws at a nominal .25 a side: an end that misses .25 fails in under 1 run of 1,000."""
    world, n = window(1, events_per_day=1000)
    p = n / n.sum(axis=1, keepdims=True)
    h = np.eye(n.shape[1])[np.where(p >= 0.05, world.reward_means, -1).argmax(axis=1)]
    u = np.divide(h, p, out=np.zeros_like(p), where=p > 0) - 1
    total = n.sum()
    truth = (u * n * world.reward_means).sum() / total
    rng = np.random.default_rng(0)
    outside, draws = np.zeros(2), 500
    for _ in range(draws):
        s = rng.binomial(n.astype(int), world.reward_means)
        by_u = Coefficients(u.ravel() + 1, u.ravel() + 1, s.ravel().astype(float))
        sums = GainSums(by_u, total, total - s.sum(), (u * u * n).sum() / total, u.max())
        lower, upper = gain_ends(sums, 0.5, 0.2)
        outside += (upper < truth, lower > truth)
    assert (outside / draws < 0.25 + 3.1 * np.sqrt(0.25 * 0.75 / draws)).all()
    wide = np.diff(gain_ends(sums, 0.05, 0.2))
    normal = np.diff(normal_ends((u * s).sum() / total, (u * u * s).sum() / total**2, 0.05))
    assert wide < 2 * normal


def test_bets_are_at_most_half_as_wide_as_kl_on_a_simulated_month():
    """100 k events at tau = .01, where hardly any weight is near 100."""
    world = TableWorld.month(events_per_day=3_400, seed=0)
    events = ws.read_events(world.draw(seed=0), context="context", action="action", reward="reward", time="time")
    bets, kl = (ws.evaluate("uniform", events, tau=0.01, interval=method)["uniform"] for method in ("bets", "kl"))
    assert bets.upper - bets.lower < 0.5 * (kl.upper - kl.lower)
