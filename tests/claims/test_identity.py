"""With weights from the evaluated window's own counts, the expected estimate given contexts and actions is exactly

(1/T) * sum over contexts of n_x * sum over actions of h(a|x) * mu(x, a) * min(1, p / tau).
"""

import numpy as np
import pytest
from tests.support import reference
from tests.support.logs import read

import warmstart as ws
from warmstart.simulation import TableWorld

TAUS = [0.4]


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(5)
    means = rng.uniform(0.1, 0.9, size=(3, 3))
    return TableWorld(np.array([0.5, 0.3, 0.2]), means, np.full((1, 3, 3), 1 / 3), events_per_day=7)


@pytest.fixture(scope="module")
def log(world):
    """Seven events: a context with shares 1/2, 1/4, 1/4, one with two equal actions, one with a single action."""
    import pyarrow as pa

    x = [0, 0, 0, 0, 1, 1, 2]
    a = [0, 0, 1, 2, 0, 1, 2]
    start = pa.scalar(0, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "context": [world.contexts[i] for i in x],
            "action": [world.actions[i] for i in a],
            "reward": [0.0] * 7,
            "time": pa.array([start.as_py()] * 7, pa.timestamp("us", "UTC")),
        }
    )


POLICIES = {
    "deterministic": [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
    "stochastic": [[0.2, 0.3, 0.5], [0.6, 0.0, 0.4], [0.5, 0.5, 0.0]],
    "undecided in part": [[0.0, 0.0, 0.0], [0.25, 0.5, 0.0], [0.0, 0.0, 0.3]],
}


def expected_by_the_identity(world, log, h, tau):
    pairs = list(zip(log["context"].to_pylist(), log["action"].to_pylist(), strict=True))
    n_x = {x: sum(y == x for y, _ in pairs) for x, _ in pairs}
    total = 0.0
    for i, x in enumerate(world.contexts):
        for j, a in enumerate(world.actions):
            p = pairs.count((x, a)) / n_x[x]
            total += n_x[x] * h[i, j] * world.reward_means[i, j] * min(1, p / tau)
    return total / len(pairs)


def outcomes(world, log, engine):
    """Every outcome of the rewards; on Spark their mean alone: on DuckDB estimates are seen to be linear in rewards."""
    if engine.name == "duckdb":
        return list(world.rewardings(log))
    cells = zip(log["context"].to_pylist(), log["action"].to_pylist(), strict=True)
    means = [world.reward_means[world.contexts.index(x), world.actions.index(a)] for x, a in cells]
    return [(1.0, log.set_column(log.column_names.index("reward"), "reward", [means]))]


def test_the_expected_estimate_is_what_the_policy_earns_on_supported_traffic(world, log, any_engine):
    arrays = {name: np.array(h, dtype=float) for name, h in POLICIES.items()}
    policies = {name: world.policy_from_array(h) for name, h in arrays.items()}
    expectation = dict.fromkeys([(name, tau) for name in policies for tau in TAUS], 0.0)
    certain = 0.0
    for probability, rewarded in outcomes(world, log, any_engine):
        certain += probability
        for estimate in ws.evaluate(policies, read(rewarded, any_engine), tau=TAUS, interval="kl"):
            expectation[estimate.policy, estimate.tau] += probability * estimate.value
    assert certain == pytest.approx(1)
    for (name, tau), value in expectation.items():
        exact = expected_by_the_identity(world, log, arrays[name], tau)
        assert value == pytest.approx(exact, abs=1e-12), (name, tau)
        assert value <= world.true_value(arrays[name], events=read(log, any_engine)) + 1e-12


def test_with_every_chosen_action_supported_the_expectation_is_the_true_value_on_the_window(world, log, any_engine):
    h = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0], [0, 0, 1]])
    events = read(log, any_engine)
    assert expected_by_the_identity(world, log, h, 0.2) == pytest.approx(world.true_value(h, events=events))
    found = ws.evaluate({"h": world.policy_from_array(h)}, events, tau=0.2)["h"]
    assert found.support.supported == pytest.approx(1)


def test_the_expected_gain_over_logging_on_supported_traffic_is_exact(world, log, any_engine):
    """Section 3's D: linear in rewards, so its expectation is D with means in place of rewards."""
    h = np.array(POLICIES["stochastic"], dtype=float)
    expectation = 0.0
    for probability, rewarded in outcomes(world, log, any_engine):
        found = ws.evaluate({"h": world.policy_from_array(h)}, read(rewarded, any_engine), tau=0.3, interval="kl")["h"]
        expectation += probability * found.gain.difference
    rows = [
        (x, a, world.reward_means[world.contexts.index(x), world.actions.index(a)], 0)
        for x, a in zip(log["context"].to_pylist(), log["action"].to_pylist(), strict=True)
    ]
    table = {(x, a): h[i, j] for i, x in enumerate(world.contexts) for j, a in enumerate(world.actions) if h[i, j] > 0}
    assert expectation == pytest.approx(reference.evaluate(rows, table, 0.3)["difference"], abs=1e-12)
