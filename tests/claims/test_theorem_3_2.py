"""Theorem 3.2, at tau = .5, where it says something: the policy of largest estimate is nearly as good as the best
policy that is supported everywhere. Exact: the probability that it is not is summed over all outcomes.
"""

import math

import numpy as np
import pytest
from scipy import stats
from tests.support.logs import read

import warmstart as ws

TAU, EVENTS, DELTA = 0.5, 120, 0.05
# One context, two actions: a0 is shown 60 % of the time and pays .9, a1 40 % and .05; pi_hat is off by .02.
PI, PI_HAT, MEANS = np.array([0.6, 0.4]), np.array([0.58, 0.42]), np.array([0.9, 0.05])


def estimates(s0, s1):
    return np.array([s0, s1]) / EVENTS / np.maximum(PI_HAT, TAU)


def test_the_probability_of_losing_more_than_the_bound_is_at_most_delta():
    """Only a0 is supported everywhere. Choosing a1 loses .85, more than the bound: its exact probability is summed."""
    bound = ws.regret_bound(mean_squared_regret=0.02**2, policies=2, events=EVENTS, tau=TAU, delta=DELTA)
    loss = MEANS[0] - MEANS[1]
    assert bound < loss
    clicked = PI * MEANS
    outcome = stats.multinomial(EVENTS, [*clicked, 1 - clicked.sum()])
    wrong = sum(
        outcome.pmf([s0, s1, EVENTS - s0 - s1])
        for s0 in range(EVENTS + 1)
        for s1 in range(EVENTS + 1 - s0)
        if estimates(s0, s1)[1] >= estimates(s0, s1)[0]
    )
    assert 0 < wrong <= DELTA


@pytest.mark.slow_on_spark
def test_the_estimates_that_are_compared_are_those_of_evaluate(engine):
    """72 events of a0 with 60 clicks, 48 of a1 with 3, weighted by a training log with 58 and 42 events."""
    rows = [("p", "a0", float(i < 60), 1) for i in range(72)] + [("p", "a1", float(i < 3), 1) for i in range(48)]
    train = read([("p", "a0", 0.0, 0)] * 58 + [("p", "a1", 0.0, 0)] * 42, engine)
    found = ws.evaluate(["constant:a0", "constant:a1"], read(rows, engine), train=train, tau=TAU, propensities="train")
    assert [estimate.weight_ratio.value for estimate in found] == pytest.approx(estimates(60, 3).tolist())


def test_the_bound_needs_more_than_the_regret_itself():
    """A wrong pi_hat makes the argmax lose more than sqrt(reg), and less than (2 / tau) sqrt(reg).

    One context; a1 is shown 51 % of the time and earns 1, a2 49 % and earns .75; pi_hat(a1) = .7. In the limit of a
    long log the estimates are 1 * .51/.7 = .729 and .75 * .49/.5 = .735: the argmax takes a2 and loses .25.
    """
    pi, pi_hat, means = np.array([[0.51, 0.49]]), np.array([[0.7, 0.3]]), np.array([[1.0, 0.75]])
    assert (pi * means / np.maximum(pi_hat, TAU))[0].argmax() == 1
    loss = means[0, 0] - means[0, 1]
    regret = float(((pi - pi_hat) ** 2).max())
    bound = ws.regret_bound(mean_squared_regret=regret, policies=2, events=10**12, tau=TAU)
    assert math.sqrt(regret) < loss <= bound


def test_the_bound_is_the_printed_formula():
    found = ws.regret_bound(mean_squared_regret=0.0004, policies=10, events=5000, tau=0.5, delta=0.1)
    assert found == pytest.approx(2 / 0.5 * (0.02 + math.sqrt(math.log(2 * 10 / 0.1) / (2 * 5000))))
    with pytest.raises(ws.UsageError):
        ws.regret_bound(mean_squared_regret=0, policies=0, events=1, tau=0.5)
