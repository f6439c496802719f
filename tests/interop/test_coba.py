"""coba's interactions."""

import pyarrow as pa
import pytest

import warmstart as ws

LOGGED = [
    {"context": {"page": "p", "age": 3}, "action": "a", "reward": 1, "probability": 0.5, "actions": ["a", "b"]},
    {"context": {"age": 3.0, "page": "p"}, "action": "b", "reward": 0, "probability": 0.5, "actions": ["a", "b"]},
    {"context": (1, 0, "x"), "action": "b", "reward": 0, "probability": 0.25, "actions": ["a", "b"]},
    {"context": None, "action": "b", "reward": 1, "probability": 0.25, "actions": ["a", "b"]},
]


def test_cobas_interactions_become_tables():
    result = ws.from_coba(LOGGED)
    rows = result.events.to_pylist()
    assert [row["action"] for row in rows] == ["a", "b", "b", "b"]
    assert [row["reward"] for row in rows] == [1, 0, 0, 1]
    assert [row["propensity"] for row in rows] == [0.5, 0.5, 0.25, 0.25]
    assert all(row["feasible"] == ["a", "b"] for row in rows)
    assert rows[0]["context"] == rows[1]["context"]
    words = {
        row["context"]: dict(zip(row["words"], row["weights"], strict=True)) for row in result.contexts.to_pylist()
    }
    assert [words[row["context"]] for row in rows[1:]] == [{"age": 3.0, "page=p": 1.0}, {"[0]": 1.0, "[2]=x": 1.0}, {}]
    assert result.actions["action"].to_pylist() == ["a", "b"]
    assert "4 events" in repr(result)


def test_actions_with_features_have_keys_of_their_own():
    result = ws.from_coba(
        [{"context": "x", "action": (1, 0), "reward": 5}, {"context": "x", "action": (0, 1), "reward": 1}]
    )
    rows = result.events.to_pylist()
    assert "propensity" not in rows[0]
    assert [row["reward"] for row in rows] == [1, 0]
    assert len({row["action"] for row in rows}) == 2 == result.actions.num_rows
    assert isinstance(result.events, pa.Table)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"reward": float("nan")}, "no number"),
        ({"probability": 0}, "not in"),
        ({"context": object()}, "cannot be read"),
    ],
)
def test_interactions_that_are_none_are_refused(changes, what):
    with pytest.raises(ws.DataError, match=what):
        ws.from_coba([{**LOGGED[0], **changes}])


def test_simulated_interactions_are_no_log():
    with pytest.raises(ws.DataError, match="no action"):
        ws.from_coba([{"context": "x", "actions": ["a"], "rewards": [1]}])
    with pytest.raises(ws.SourceError):
        ws.from_coba([])
