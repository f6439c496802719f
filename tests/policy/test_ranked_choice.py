"""Policies that were learned without features of contexts choose in those of training by their keys."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.core import ColumnError

BEST = {"x": "small", "y": "large", "z": "small"}


@pytest.fixture(scope="module")
def policy():
    rng = np.random.default_rng(0)
    group, model = rng.integers(0, 3, 3_000), rng.integers(0, 2, 3_000)
    # The large one in y, the small one in x and z: by the group alone there is a best model, overall there is none.
    right = rng.random(3_000) < np.where((group == 1) == (model == 1), 0.9, 0.3)
    names = np.array(["x", "y", "z"])[group], np.array(["small", "large"])[model]
    log = pa.table({"group": names[0], "model": names[1], "right": right.astype(float)})
    return ws.fit(ws.read_events(log, context="group", action="model", reward="right"), model="cells", fit_tau=1)


def test_each_context_gets_the_first_action_of_its_ranking_with_its_score(policy):
    chosen = policy.choose_table(pa.table({"group": ["x", "y", "z"]}))
    assert dict(zip(chosen["group"].to_pylist(), chosen["model"].to_pylist(), strict=True)) == BEST
    ranked = {row["group"]: row["score"] for row in policy.ranking.to_pylist() if row["rank"] == 1}
    assert dict(zip(chosen["group"].to_pylist(), chosen["score"].to_pylist(), strict=True)) == pytest.approx(ranked)
    for group, best in BEST.items():
        one, scores = policy.choose({"group": group})
        assert one == best
        assert scores[policy.action_keys.index(best)] == pytest.approx(ranked[group])


def test_a_context_that_training_lacks_and_one_without_keys_get_what_the_model_says_of_all(policy):
    scores = policy.choose({})[1]
    assert policy.choose({"group": "new"})[1].tolist() == scores.tolist()
    chosen = policy.choose_table(pa.table({"group": ["new", "x", None]}))
    most = policy.action_keys[int(scores.argmax())]
    assert chosen["model"].to_pylist() == [most, "small", most]
    assert chosen["score"].to_pylist()[0] == pytest.approx(scores.max())


def test_the_actions_given_limit_the_choice(policy):
    assert policy.choose({"group": "x"}, ["large"])[0] == "large"
    only = policy.choose_table(pa.table({"group": ["x", "y"]}), pa.table({"model": ["large"]}))
    assert only["model"].to_pylist() == ["large", "large"]


def test_exploration_draws_around_the_first_of_the_ranking(policy):
    contexts = pa.table({"group": ["x"] * 400})
    drawn = policy.choose_table(contexts, explore=0.2, rng=np.random.default_rng(1)).to_pylist()
    shown = [row["model"] for row in drawn]
    assert {row["model"]: round(row["probability"], 9) for row in drawn} == {"small": 0.9, "large": 0.1}
    assert 20 < shown.count("large") < 70
    assert policy.choose({"group": "x"}, explore=0.2, rng=np.random.default_rng(1)).probability in (0.9, 0.1)


def test_keys_of_another_type_are_refused_by_name(policy):
    with pytest.raises(ColumnError, match="log's types"):
        policy.choose_table(pa.table({"group": [{"a": 1}]}))


@pytest.mark.parametrize("context", [[{"group": "x"}], "x", 5, None])
def test_what_is_no_context_is_refused_with_what_to_pass(policy, context):
    with pytest.raises(ws.UsageError, match=r"must be a dict of its columns.* choose_table"):
        policy.choose(context)


def test_several_contexts_in_one_and_what_is_no_list_of_actions_are_refused(policy):
    with pytest.raises(ColumnError, match=r"one value, and is .* pass a table to choose_table"):
        policy.choose({"group": ["x", "y"]})
    for actions in (5, [["small"]]):
        with pytest.raises(ws.UsageError, match="must be a list of actions"):
            policy.choose({"group": "x"}, actions)
    with pytest.raises(ColumnError, match="log's types"):
        policy.unfamiliar(pa.table({"group": [["x"]]}))
    with pytest.raises(ColumnError, match="log's types"):
        policy.unfamiliar(pa.table({"group": ["x"]}), pa.table({"model": [["small"]]}))
