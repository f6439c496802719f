"""Theorem 3.2, at tau = .5, where it says something: the policy of largest estimate is nearly as good as the best
policy that is supported everywhere.
"""

import itertools
import math

import numpy as np
import pytest
from tests.logs import read

import warmstart as ws
from warmstart.simulate import TableWorld

TAU = 0.5


def all_policies(contexts, actions):
    return [np.eye(actions)[list(choice)] for choice in itertools.product(range(actions), repeat=contexts)]


def test_selection_by_estimate_competes_with_the_best_supported_policy(duckdb):
    """40 logs of 6,000 events, pi_hat off by .01: the theorem allows a miss in 1 of 20, and none is expected."""
    logging = np.array([[[0.8, 0.2], [0.3, 0.7]]])
    world = TableWorld(np.array([0.6, 0.4]), np.array([[0.6, 0.5], [0.2, 0.4]]), logging, events_per_day=6000)
    policies = all_policies(2, 2)
    pi = world.average_logging
    supported = [h for h in policies if ((h * pi).sum(axis=1) > TAU).all()]
    best = max(world.true_value(h) for h in supported)
    assert best > min(world.true_value(h) for h in policies)
    off = np.array([[0.79, 0.21], [0.29, 0.71]])
    rows = [
        (world.contexts[x], world.actions[a], 0.0, -9)
        for x, a in np.ndindex(2, 2)
        for _ in range(round(100 * off[x, a]))
    ]
    train = read(rows, duckdb)
    regret = float(world.traffic @ ((pi - off) ** 2).max(axis=1))
    bound = ws.regret_bound(mean_squared_regret=regret, policies=4, events=6000, tau=TAU, delta=0.05)
    assert bound < best
    named = {str(i): world.policy_from_array(h) for i, h in enumerate(policies)}
    losses = []
    for seed in range(40):
        found = ws.evaluate(named, read(world.draw(seed=seed), duckdb), train=train, tau=TAU, weights_from="train")
        chosen = max(found, key=lambda estimate: estimate.value)
        losses.append(best - world.true_value(policies[int(chosen.policy)]))
    assert max(losses) <= bound


def test_the_factor_two_over_tau_is_needed():
    """A wrong pi_hat makes the argmax lose more than sqrt(reg), and less than (2 / tau) sqrt(reg).

    One context; a1 is shown 51 % of the time and earns 1, a2 49 % and earns .75; pi_hat(a1) = .7. In the limit of a
    long log the estimates are 1 * .51/.7 = .729 and .75 * .49/.5 = .735: the argmax takes a2 and loses .25.
    """
    pi, pi_hat, means = np.array([[0.51, 0.49]]), np.array([[0.7, 0.3]]), np.array([[1.0, 0.75]])
    estimates = (pi * means / np.maximum(pi_hat, TAU))[0]
    assert estimates.argmax() == 1
    loss = means[0, 0] - means[0, 1]
    regret = float(((pi - pi_hat) ** 2).max())
    bound = ws.regret_bound(mean_squared_regret=regret, policies=2, events=10**12, tau=TAU)
    assert math.sqrt(regret) < loss <= bound


def test_the_bound_is_the_printed_formula():
    found = ws.regret_bound(mean_squared_regret=0.0004, policies=10, events=5000, tau=0.5, delta=0.1)
    assert found == pytest.approx(2 / 0.5 * (0.02 + math.sqrt(math.log(2 * 10 / 0.1) / (2 * 5000))))
    with pytest.raises(ws.UsageError):
        ws.regret_bound(mean_squared_regret=0, policies=0, events=1, tau=0.5)
