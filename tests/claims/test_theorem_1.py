"""Theorem 1: for a fixed pi_hat, deterministic policies that change give the estimator the same expectation as their
stochastic average would. Checked by enumerating every log both ways of choosing can write.
"""

import numpy as np
import pytest
from tests.support.logs import read

import warmstart as ws
from warmstart.simulation import TableWorld

TAU = 0.3
MEANS = np.array([[0.9, 0.2], [0.4, 0.7]])
TRAFFIC = np.array([0.75, 0.25])
# Day by day another deterministic choice: context 0 gets actions 0, 1, 0; context 1 gets 1, 1, 0.
CHANGING = np.array([[[1, 0], [0, 1]], [[0, 1], [0, 1]], [[1, 0], [1, 0]]], dtype=float)
H = np.array([[1.0, 0.0], [0.0, 1.0]])


@pytest.fixture(scope="module")
def train(duckdb):
    """A fixed log, independent of what is evaluated, whose shares are pi_hat: (1/4, 3/4) and (1/2, 1/2)."""
    rows = [("page-0", "ad-0", 0.0, -9)] + [("page-0", "ad-1", 0.0, -9)] * 3
    rows += [("page-1", "ad-0", 0.0, -9), ("page-1", "ad-1", 0.0, -9)]
    return read(rows, duckdb)


PI_HAT = np.array([[0.25, 0.75], [0.5, 0.5]])


def expected_estimate(world, train, engine):
    h = world.policy_from_array(H)
    options = {"train": train, "tau": TAU, "propensities": "train", "interval": "kl", "estimators": ["ips"]}
    logs = list(world.logs())
    assert sum(p for p, _ in logs) == pytest.approx(1)
    return sum(
        p * ws.evaluate({"h": h}, read(log, engine), allow_unknown_actions=True, **options)["h"].weight_ratio.value
        for p, log in logs
    )


@pytest.mark.parametrize("days", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_changing_deterministic_policies_act_like_their_average(days, train, duckdb):
    changing = TableWorld(TRAFFIC, MEANS, CHANGING[:days], events_per_day=1)
    average = changing.average_logging
    assert set(CHANGING.ravel()) == {0, 1}
    right_side = TRAFFIC @ (average * MEANS * H / np.maximum(PI_HAT, TAU)).sum(axis=1)
    assert expected_estimate(changing, train, duckdb) == pytest.approx(right_side, abs=1e-12)
    stochastic = TableWorld(TRAFFIC, MEANS, average[None], events_per_day=1)
    assert expected_estimate(stochastic, train, duckdb) == pytest.approx(right_side, abs=1e-12)
