"""Open Bandit Pipeline's dict of arrays."""

import numpy as np
import pytest
from tests.support.logs import random_log, read

import warmstart as ws

RNG = np.random.default_rng(0)

ROUNDS, ACTIONS = 200, 3


def feedback(**changes):
    """The dict that OBP's datasets return."""
    context = RNG.integers(0, 2, (ROUNDS, 2)).astype(float)
    return {
        "n_rounds": ROUNDS,
        "n_actions": ACTIONS,
        "context": context,
        "action_context": np.eye(ACTIONS),
        "action": RNG.integers(0, ACTIONS, ROUNDS),
        "position": None,
        "reward": RNG.integers(0, 2, ROUNDS),
        "expected_reward": RNG.random((ROUNDS, ACTIONS)),
        "pscore": np.full(ROUNDS, 1 / ACTIONS),
        **changes,
    }


def opened(result, **options):
    return ws.read_events(result.events, context="context", action="action", reward="reward", **options)


def test_feedback_becomes_events_contexts_and_actions():
    given = feedback()
    result = ws.from_obp(given)
    assert result.events.column_names == ["context", "action", "reward", "propensity", "x_0", "x_1"]
    assert result.events["action"].to_pylist() == given["action"].tolist()
    assert result.events["reward"].to_pylist() == given["reward"].tolist()
    assert result.contexts.num_rows == len(np.unique(given["context"], axis=0)) == 4
    assert result.actions.column_names == ["action", "a_0", "a_1", "a_2"]
    by_key = {row["context"]: (row["x_0"], row["x_1"]) for row in result.contexts.to_pylist()}
    assert [by_key[key] for key in result.events["context"].to_pylist()] == [tuple(row) for row in given["context"]]
    assert len(set(by_key.values())) == len(by_key)


def test_the_value_of_an_action_dist_is_obps_ips():
    given = feedback()
    dist = RNG.dirichlet(np.ones(ACTIONS), size=(2, 2))[
        given["context"].astype(int)[:, 0], given["context"].astype(int)[:, 1]
    ]
    result = ws.from_obp(given, action_dist=dist[:, :, None])
    chosen = dist[np.arange(ROUNDS), given["action"]]
    expected = np.mean(given["reward"] * chosen / given["pscore"])
    value = ws.evaluate(
        {"dist": result.decisions}, opened(result, propensity="propensity"), tau=0.01, estimators=["ips"]
    )["dist"].value
    assert value == pytest.approx(expected)


def test_without_pscore_there_is_no_propensity():
    result = ws.from_obp(feedback(pscore=None))
    assert "propensity" not in result.events.column_names
    assert ws.evaluate("uniform", opened(result), tau=0.05, estimators=["ips"])["uniform"].events == ROUNDS


def test_position_and_other_scales_are_kept():
    result = ws.from_obp(feedback(position=np.arange(ROUNDS) % 3, reward=np.arange(ROUNDS) % 5))
    assert result.events["position"].to_pylist() == [i % 3 for i in range(ROUNDS)]
    assert result.events["reward"].to_pylist() == [i % 5 / 4 for i in range(ROUNDS)]
    assert (result.about["costs"]["low"], result.about["costs"]["high"]) == (-4, 0)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"action": None}, "no 'action'"),
        ({"reward": np.zeros(3)}, "'reward' is not one"),
        ({"pscore": np.zeros(ROUNDS)}, r"outside \(0, 1\]"),
        ({"context": np.zeros(ROUNDS)}, "'context' is not a row"),
        ({"n_actions": 1}, "n_actions is 1"),
        ({"action": np.full(ROUNDS, 0.5)}, "not numbers from 0"),
    ],
)
def test_feedback_that_is_none_is_refused(changes, what):
    with pytest.raises(ws.DataError, match=what):
        ws.from_obp(feedback(**changes))


def test_events_become_feedback_with_floored_propensities():
    rows = random_log(5)
    events = read(rows, "duckdb")
    result = ws.to_obp(events, tau=0.1)
    assert {"n_rounds", "n_actions", "context", "action", "position", "reward", "pscore", "action_dist"} <= set(result)
    assert (result["n_rounds"], result["n_actions"], result["position"]) == (len(rows), 5, None)
    assert result["action_dist"].shape == (len(rows), 5, 1)
    assert result["action_dist"].sum(axis=1) == pytest.approx(1)
    own = result["action_dist"][np.arange(len(rows)), result["action"], 0]
    assert result["pscore"] == pytest.approx(np.maximum(own, 0.1))
    assert result["pscore"].min() == 0.1
    assert result["context"].shape == (len(rows), 6)
    assert (result["context"].sum(axis=1) == 1).all()


def test_obps_ips_of_an_exported_policy_is_ours():
    events = read(random_log(5), "duckdb")
    policy = ws.policy_table("uniform", events, live=False)
    result = ws.to_obp(events, tau=0.1, policy=policy)
    ratio = result["action_dist"][np.arange(result["n_rounds"]), result["action"], 0] / result["pscore"]
    ours = ws.evaluate("uniform", events, tau=0.1, live=False, estimators=["ips"])["uniform"].value
    assert np.mean(result["reward"] * ratio) == pytest.approx(ours)


def test_feedback_survives_the_way_out_and_back():
    given = feedback()
    events = ws.read_events(
        ws.from_obp(given).events, context=["x_0", "x_1"], action="action", reward="reward", propensity="propensity"
    )
    back = ws.to_obp(events, tau=0.01)
    both = [
        sorted(zip(map(tuple, f["context"]), f["action"], f["reward"], f["pscore"], strict=True)) for f in (given, back)
    ]
    assert both[0] == both[1]


def test_too_large_for_dense_arrays_is_refused(monkeypatch):
    monkeypatch.setattr("warmstart.interop.obp.LARGEST", 100)
    with pytest.raises(ws.UsageError, match="dense"):
        ws.to_obp(read(random_log(5), "duckdb"), tau=0.1)
