"""With weights from the evaluated window's own counts, the expected estimate given contexts and actions is exactly

(1/T) * sum over contexts of n_x * sum over actions of h(a|x) * mu(x, a) * min(1, p / tau).
"""

import numpy as np
import pytest
from tests.support import reference
from tests.support.logs import read

import warmstart as ws
from warmstart.simulation import TableWorld

TAU = 0.4


@pytest.fixture(scope="module")
def world():
    """Three cells of the log below always earn: eight outcomes of its rewards are possible, not 64."""
    rng = np.random.default_rng(5)
    means = rng.uniform(0.1, 0.9, size=(3, 3))
    means[0, 1] = means[1, 1] = means[2, 2] = 1.0
    return TableWorld(np.array([0.5, 0.3, 0.2]), means, np.full((1, 3, 3), 1 / 3), events_per_day=6)


@pytest.fixture(scope="module")
def log(world):
    """Six events: a context with shares 2/3 and 1/3, one with two equal actions, one with a single action."""
    import pyarrow as pa

    x = [0, 0, 0, 1, 1, 2]
    a = [0, 0, 1, 0, 1, 2]
    start = pa.scalar(0, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "context": [world.contexts[i] for i in x],
            "action": [world.actions[i] for i in a],
            "reward": [0.0] * 6,
            "time": pa.array([start.as_py()] * 6, pa.timestamp("us", "UTC")),
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


@pytest.fixture(scope="module")
def outcomes(world, log, any_engine):
    """Every outcome of the rewards, with its probability and what evaluate says of it.

    On Spark their mean alone: on DuckDB estimates are seen to be linear in rewards.
    """
    rewardings = world.rewardings(log)
    if any_engine.name != "duckdb":
        cells = zip(log["context"].to_pylist(), log["action"].to_pylist(), strict=True)
        means = [world.reward_means[world.contexts.index(x), world.actions.index(a)] for x, a in cells]
        rewardings = [(1.0, log.set_column(log.column_names.index("reward"), "reward", [means]))]
    policies = {name: world.policy_from_array(np.array(h, dtype=float)) for name, h in POLICIES.items()}
    options = {"tau": TAU, "interval": "kl", "estimators": ["ips"], "allow_unknown_actions": True}
    return [
        (probability, ws.evaluate(policies, read(rewarded, any_engine), **options))
        for probability, rewarded in rewardings
    ]


@pytest.mark.parametrize("name", POLICIES)
def test_the_expected_estimate_is_what_the_policy_earns_on_supported_traffic(name, world, log, outcomes, any_engine):
    h = np.array(POLICIES[name], dtype=float)
    assert sum(probability for probability, _ in outcomes) == pytest.approx(1)
    expectation = sum(probability * found[name].value for probability, found in outcomes)
    assert expectation == pytest.approx(expected_by_the_identity(world, log, h, TAU), abs=1e-12)
    assert expectation <= world.true_value(h, events=read(log, any_engine)) + 1e-12


def test_with_every_chosen_action_supported_the_expectation_is_the_true_value_on_the_window(world, log, any_engine):
    h = np.array([[0.6, 0.4, 0], [0.5, 0.5, 0], [0, 0, 1]])
    events = read(log, any_engine)
    assert expected_by_the_identity(world, log, h, 0.2) == pytest.approx(world.true_value(h, events=events))
    found = ws.evaluate({"h": world.policy_from_array(h)}, events, tau=0.2, allow_unknown_actions=True)["h"]
    assert found.support.supported == pytest.approx(1)


@pytest.mark.parametrize("name", POLICIES)
def test_the_expected_gain_over_logging_on_supported_traffic_is_exact(name, world, log, outcomes):
    """Section 3's D: linear in rewards, so its expectation is D with means in place of rewards."""
    h = np.array(POLICIES[name], dtype=float)
    expectation = sum(probability * found[name].gain.certified.difference for probability, found in outcomes)
    rows = [
        (x, a, world.reward_means[world.contexts.index(x), world.actions.index(a)], 0)
        for x, a in zip(log["context"].to_pylist(), log["action"].to_pylist(), strict=True)
    ]
    table = {(x, a): h[i, j] for i, x in enumerate(world.contexts) for j, a in enumerate(world.actions) if h[i, j] > 0}
    expected = reference.evaluate(rows, table, TAU)
    assert expectation == pytest.approx(expected["share"] * expected["difference"], abs=1e-12)
