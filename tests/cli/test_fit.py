"""warmstart fit, evaluate with its folder, and choose."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.cli import main

TASKS = {"context": "task", "action": "model"}
ROUTED = ["--context", "task", "--action", "model", "--reward", "solved", "--also", "cost"]
NAMES = ["--context", "page", "--action", "ad", "--reward", "click", "--time", "shown_at"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    numbers = {"events": 30_000, "n_contexts": 300, "n_actions": 120, "days": 10}
    return ws.simulate(tmp_path_factory.mktemp("cli") / "month", **numbers)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["warmstart", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    shown = capsys.readouterr()
    return left.value.code, shown.out, shown.err


def test_fit_evaluate_and_choose(world, tmp_path, monkeypatch, capsys):
    policy = tmp_path / "policy"
    tables = ["--contexts", world.contexts_path, "--actions", world.actions_path]
    options = ["--train-fraction", "0.65", "--weight-bits", "18", "--out", policy]
    code, out, _ = run(monkeypatch, capsys, "fit", world.events_path, *NAMES, *tables, *options)
    assert code == 0
    assert out.startswith("Learned, not evaluated: nothing here says what the policy would earn\nBefore it is used, ")
    assert "Learned from 19,500 events" in out
    assert "left out: 'text'" in out
    evaluate = ["evaluate", world.events_path, *NAMES, "--policy", policy, "--tau", "0.05", "--json"]
    code, out, _ = run(monkeypatch, capsys, *evaluate)
    found = json.loads(out)
    assert code == 0
    assert found["windows"]["evaluated"]["events"] == 10_500
    assert found["policies"][0]["certified_lower"] is not None
    evaluate = ["evaluate", world.events_path, *NAMES, "--policy", f"all=naive:{policy}", "--tau", "0.05", "--json"]
    code, _, said = run(monkeypatch, capsys, *evaluate)
    assert (code, "is not opened" in said) == (1, True)
    evaluate += ["--contexts", world.contexts_path]
    code, out, _ = run(monkeypatch, capsys, *evaluate)
    assert code == 0
    assert json.loads(out)["windows"]["evaluated"] == found["windows"]["evaluated"]
    assert json.loads(out)["policies"][0]["policy"] == "all"
    pq.write_table(pq.read_table(world.contexts_path).slice(0, 7), tmp_path / "new.parquet")
    code, out, _ = run(monkeypatch, capsys, "choose", policy, "--contexts", tmp_path / "new.parquet", "--json")
    assert code == 0
    assert [row["page"] for row in json.loads(out)["decisions"]] == list(range(7))
    code, out, _ = run(monkeypatch, capsys, "choose", policy, "--contexts", tmp_path / "new.parquet")
    assert "score" in out
    written = tmp_path / "decisions.parquet"
    code, _, _ = run(monkeypatch, capsys, "choose", policy, "--contexts", tmp_path / "new.parquet", "--out", written)
    assert pq.read_table(written).num_rows == 7


def test_wrong_commands(world, tmp_path, monkeypatch, capsys):
    base = ["fit", world.events_path, *NAMES, "--out", tmp_path / "policy"]
    for extra, message in (
        (["--fit-tau", "often"], "--fit-tau must be auto or a number"),
        (["--learn-from", "rows"], "cannot learn from"),
        (["--train-until", "2026-10-05", "--train-fraction", "0.5"], "exclude each other"),
        (["--safe", "--also", "clicks", "--guard", "clicked<=+1%"], "which is no outcome of the log"),
        (["--safe", "--range", "click=0:0.5", "--guard", "click>=-1%"], "needs a range"),
    ):
        code, _, err = run(monkeypatch, capsys, *base, *extra)
        assert code == 2
        assert message in err
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "mine.txt").write_text("keep")
    code, _, err = run(monkeypatch, capsys, *base)
    assert code == 2
    assert "already there" in err
    code, _, err = run(monkeypatch, capsys, "choose", tmp_path, "--contexts", world.contexts_path)
    assert code == 1
    assert "is no saved policy" in err


def routed():
    """The large model solves more of either task, and is worth its cost only in the hard one."""
    rng = np.random.default_rng(0)
    hard, large = rng.random((2, 4_000)) < 0.5
    solved = rng.random(4_000) < 0.7 + large * np.where(hard, 0.4, 0.03) - 0.3 * hard
    cost = np.where(large, 0.01, 0.001)
    columns = {"task": np.where(hard, "hard", "easy"), "model": np.where(large, "large", "small")}
    return pa.table({**columns, "solved": solved.astype(float), "cost": cost, "worth": solved - 20 * cost})


def first_choices(decisions):
    """The choice of every task."""
    return {row["task"]: row["model"] for row in decisions.to_pylist()}


@pytest.mark.parametrize("safe", [False, True])
def test_a_utility_teaches_what_a_column_of_that_sum_does(safe):
    table = routed()
    events = ws.read_events(table, **TASKS, reward="solved", also="cost", minimize="cost", ranges={"cost": (0, 0.01)})
    of_column = ws.read_events(table, **TASKS, reward="worth", ranges={"worth": (-0.2, 1.0)})
    options = {"model": "cells", "fit_tau": 1.0} | ({"safe": True} if safe else {})
    learned, same = (
        ws.fit(events, utility="solved - 20*cost", **options).decisions,
        ws.fit(of_column, **options).decisions,
    )
    assert learned.sort_by("task").to_pylist() == same.sort_by("task").to_pylist()
    if not safe:
        assert first_choices(learned) == {"hard": "large", "easy": "small"}
        assert first_choices(ws.fit(events, **options).decisions) == {"hard": "large", "easy": "large"}


def test_the_command_takes_a_utility_and_refuses_other_outcomes_without_it(tmp_path):
    pq.write_table(routed(), tmp_path / "log.parquet")
    fit = ["fit", "log.parquet", *ROUTED, "--range", "cost=0:0.01", "--model", "cells", "--fit-tau", "1"]
    ran = warmstart(*fit, "--utility", "solved - 20*cost", "--out", "policy", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert first_choices(ws.load_policy(tmp_path / "policy").decisions) == {"hard": "large", "easy": "small"}
    evaluate = ["evaluate", "log.parquet", *ROUTED, "--range", "cost=0:0.01", "--policy", "policy", "--tau", "0.1"]
    ran = warmstart(*evaluate, "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert warmstart(*fit, "--out", "plain", cwd=tmp_path).returncode == 2
    ran = warmstart(*fit, "--utility", "solved - 20*price", "--out", "none", cwd=tmp_path)
    assert "'price', which is no outcome" in ran.stderr
