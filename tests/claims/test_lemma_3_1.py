"""Lemma 3.1 and its corollary: the expected estimate lies between two bounds. Exact, over all outcomes of one event
(the expectation does not depend on T), in random worlds with a pi_hat that is wrong.
"""

import numpy as np
import pytest
from tests.support.logs import read

import warmstart as ws
from warmstart.simulation import TableWorld


def random_world(seed):
    rng = np.random.default_rng(seed)
    contexts, actions = 2, 3
    logging = rng.dirichlet(np.full(actions, 0.8), size=(1, contexts))
    world = TableWorld(rng.dirichlet([2, 2]), rng.uniform(size=(contexts, actions)), logging, events_per_day=1)
    return world, rng


def pretended(world, rng, engine):
    """A training log whose shares are a wrong pi_hat, and those shares."""
    counts = rng.integers(0, 6, size=world.reward_means.shape) + np.eye(*world.reward_means.shape, dtype=int)
    rows = [
        (world.contexts[x], world.actions[a], 0.0, -9)
        for x, a in np.ndindex(*counts.shape)
        for _ in range(counts[x, a])
    ]
    return read(rows, engine), counts / counts.sum(axis=1, keepdims=True)


def expected_estimate(world, h, train, tau, engine):
    policy = {"h": world.policy_from_array(h)}
    total = 0.0
    for probability, log in world.logs():
        options = {"train": train, "tau": tau, "propensities": "train", "interval": "kl", "estimators": ["ips"]}
        found = ws.evaluate(policy, read(log, engine), allow_unknown_actions=True, **options)
        total += probability * found["h"].weight_ratio.value
    return total


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 2, 4, 5, 6, 7))])
def test_the_expected_estimate_lies_between_the_bounds(seed, duckdb):
    check_bounds(seed, duckdb)


@pytest.mark.slow
@pytest.mark.spark
def test_the_expected_estimate_lies_between_the_bounds_on_spark(spark):
    check_bounds(0, spark)


def check_bounds(seed, engine):
    world, rng = random_world(seed)
    train, pi_hat = pretended(world, rng, engine)
    h = np.eye(3)[rng.integers(3, size=2)]
    tau = float(rng.choice([0.05, 0.2, 0.5]))
    pi = world.average_logging
    expectation = expected_estimate(world, h, train, tau, engine)
    by_hand = world.traffic @ (pi * world.reward_means * h / np.maximum(pi_hat, tau)).sum(axis=1)
    assert expectation == pytest.approx(by_hand, abs=1e-12)
    lower, upper = ws.bias_bounds(world.traffic, pi, pi_hat, h, world.reward_means, tau=tau)
    assert lower - 1e-12 <= expectation <= upper + 1e-12


def test_the_bounds_meet_when_pi_hat_is_right_and_everything_is_supported():
    world, _ = random_world(1)
    pi = world.average_logging
    h = np.eye(3)[pi.argmax(axis=1)]
    lower, upper = ws.bias_bounds(world.traffic, pi, pi, h, world.reward_means, tau=0.1)
    assert lower == pytest.approx(upper) == pytest.approx(world.true_value(h))


def test_with_a_right_pi_hat_the_estimate_never_overestimates():
    """Upper bound V, lower bound the supported part, where a chosen action is rarer than tau."""
    world, _ = random_world(2)
    pi = world.average_logging
    rare = np.eye(3)[pi.argmin(axis=1)]
    tau = float(pi.min(axis=1).max()) + 0.01
    lower, upper = ws.bias_bounds(world.traffic, pi, pi, rare, world.reward_means, tau=tau)
    expectation = world.traffic @ (rare * world.reward_means * np.minimum(1, pi / tau)).sum(axis=1)
    assert lower == 0
    assert upper == pytest.approx(world.true_value(rare))
    assert lower < expectation < upper


@pytest.mark.parametrize("seed", range(20))
def test_the_corollary_bounds_the_bias_of_a_supported_policy(seed):
    world, rng = random_world(seed)
    pi = world.average_logging
    h = np.eye(3)[pi.argmax(axis=1)]
    tau = float(pi.max(axis=1).min())
    pi_hat = rng.dirichlet([1, 1, 1], size=2)
    expectation = world.traffic @ (pi * world.reward_means * h / np.maximum(pi_hat, tau)).sum(axis=1)
    assert abs(expectation - world.true_value(h)) <= ws.corollary_bound(world.traffic, pi, pi_hat, tau=tau) + 1e-12


def test_the_dependence_on_tau_is_unavoidable(any_engine):
    """One context, rewards always 1, pi = tau + epsilon, pi_hat = tau: the error is epsilon / tau exactly."""
    tau, epsilon = 0.25, 0.1
    world = TableWorld(
        np.array([1.0]), np.array([[1.0, 1.0]]), np.array([[[tau + epsilon, 1 - tau - epsilon]]]), events_per_day=1
    )
    train = read([("page-0", "ad-0", 0.0, -9)] + [("page-0", "ad-1", 0.0, -9)] * 3, any_engine)
    h = np.array([[1.0, 0.0]])
    expectation = expected_estimate(world, h, train, tau, any_engine)
    assert expectation == pytest.approx((tau + epsilon) / tau, abs=1e-12)
    pi, pi_hat = world.average_logging, np.array([[tau, 1 - tau]])
    assert expectation - world.true_value(h) == pytest.approx(epsilon / tau, abs=1e-12)
    assert ws.corollary_bound(world.traffic, pi, pi_hat, tau=tau) == pytest.approx(epsilon / tau)
    _, upper = ws.bias_bounds(world.traffic, pi, pi_hat, h, world.reward_means, tau=tau)
    assert expectation == pytest.approx(upper)


def test_the_lemma_is_for_deterministic_policies():
    half = np.array([[0.5, 0.5]])
    with pytest.raises(ws.UsageError, match="deterministic"):
        ws.bias_bounds([1.0], half, half, half, half, tau=0.5)
