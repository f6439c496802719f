"""``constants``: each action of the window as a policy of its own."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart

import warmstart as ws


def log(actions):
    count = len(actions)
    rewards = [float(i % 3 == 0) for i in range(count)]
    return pa.table(
        {
            "page": ["p", "q"] * (count // 2),
            "ad": actions,
            "click": rewards,
            "at": [1_760_000_000 + 60 * i for i in range(count)],
        }
    )


def read(table):
    return ws.read_events(table, context="page", action="ad", reward="click", time="at")


def test_they_are_what_each_action_alone_is_those_shown_most_first():
    events = read(log(["small", "small", "small", "large"] * 10))
    every = ws.evaluate(["logging", "constants"], events, tau=0.1)
    alone = ws.evaluate(["logging", "constant:small", "constant:large"], events, tau=0.1)
    assert [one.policy for one in every] == ["logging", "constant:small", "constant:large"]
    assert every.to_dict() == alone.to_dict()
    assert [one.policy for one in ws.evaluate("constants", read(log([1, 1, 2, 2] * 5)), tau=0.1)] == [
        "constant:1",
        "constant:2",
    ]


def test_an_action_that_the_user_names_is_not_there_twice():
    events = read(log(["small", "small", "small", "large"] * 10))
    found = ws.evaluate({"mine": "constant:large", "all": "constants"}, events, tau=0.1)
    assert [one.policy for one in found] == ["mine", "constant:small"]


def test_they_are_those_of_the_evaluated_window():
    events = read(log(["old"] * 20 + ["small", "large"] * 10))
    train, test = events.split(fraction=0.5)
    found = ws.evaluate("constants", test, train=train, tau=0.1)
    assert sorted(one.policy for one in found) == ["constant:large", "constant:small"]


def test_many_actions_are_refused_and_so_is_a_place_for_one_policy(tmp_path):
    events = read(log([f"a{i % 13}" for i in range(26)]))
    with pytest.raises(ws.UsageError, match="up to 12 actions"):
        ws.evaluate("constants", events)
    with pytest.raises(ws.UsageError, match="several policies"):
        ws.policy_table("constants", events)
    pq.write_table(log(["small", "large"] * 4), tmp_path / "log.parquet")
    columns = ["--context", "page", "--action", "ad", "--reward", "click"]
    ran = warmstart("evaluate", "log.parquet", *columns, "--policy", "constants", "--tau", "0.1", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "constant:small" in ran.stdout


@pytest.mark.parametrize(
    ("actions", "policies", "said"),
    [
        (2, ["uniform"], True),
        (2, ["uniform", "constant:a0"], False),
        (2, ["constants"], False),
        (13, ["uniform"], False),
    ],
)
def test_the_command_says_where_no_row_is_one_action_always(tmp_path, actions, policies, said):
    pq.write_table(log([f"a{i % actions}" for i in range(52)]), tmp_path / "log.parquet")
    named = [part for policy in policies for part in ("--policy", policy)]
    columns = ["--context", "page", "--action", "ad", "--reward", "click"]
    ran = warmstart("evaluate", "log.parquet", *columns, *named, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ("--policy constants adds a row for each of the 2 actions" in ran.stderr) == said
    assert "adds a row" not in ran.stdout
