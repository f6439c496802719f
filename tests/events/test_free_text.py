"""Contexts that are free text are numbered in audit and plan, unless they are asked for, and cut in errors."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart

import warmstart as ws

PROMPTS = [f"my doctor says that I have illness {i}" for i in range(6)]
COLUMNS = ("--context", "tier", "--context", "prompt", "--action", "model", "--reward", "reward")
PLAN = ("plan", "log.parquet", *COLUMNS, "--policy", "constant:small", "--gain", "0.2", "--share", "0.5")


@pytest.fixture
def log(tmp_path):
    n = 60
    models = ["large" if i % 6 < 3 or i < 30 else "small" for i in range(n)]
    columns = {"tier": ["free"] * n, "prompt": [PROMPTS[i % 6] for i in range(n)], "model": models}
    pq.write_table(pa.table({**columns, "reward": [float(i % 4 > 0) for i in range(n)]}), tmp_path / "log.parquet")
    return tmp_path


def said(folder, *arguments):
    ran = warmstart(*arguments, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("command", [("audit", "log.parquet", *COLUMNS), PLAN], ids=["audit", "plan"])
def test_no_prompt_is_in_what_a_command_prints_or_in_its_page(log, command):
    texts = said(log, *command, "--json") + said(log, *command, "--html", "page.html") + (log / "page.html").read_text()
    assert "text 1 of 6, not shown" in texts
    assert "illness" not in texts
    assert "illness" in said(log, *command, "--json", "--name-texts")


def test_no_prompt_is_in_what_a_safe_fit_left_for_want_of_proof(log):
    texts = said(log, "fit", "log.parquet", *COLUMNS, "--safe", "--out", "policy", "--html", "page.html")
    assert "free, text 1 of 6, not shown" in texts
    assert "illness" not in texts + (log / "page.html").read_text()


def test_tables_that_were_asked_for_have_the_prompts(log):
    said(log, "audit", "log.parquet", *COLUMNS, "--explore-out", "contexts.csv")
    said(log, *PLAN, "--out", "plan.csv")
    assert all("illness" in (log / name).read_text() for name in ("contexts.csv", "plan.csv"))


def test_an_audit_that_was_saved_has_numbers_where_texts_were(log):
    names = {"context": ["tier", "prompt"], "action": "model", "reward": "reward"}
    audit = ws.audit(ws.read_events(log / "log.parquet", **names))
    assert audit.explore.rows[0][:2] == ("free", "text 1 of 6, not shown")
    assert audit.explore.to_arrow()["prompt"][0].as_py() == PROMPTS[0]
    saved = ws.load_result(audit.save(log / "audit.json"))
    assert saved.explore == audit.explore
    assert saved.explore.to_arrow()["prompt"][0].as_py() == "text 1 of 6, not shown"
    assert json.loads(audit.to_json())["explore"].keys() == {"contexts", "traffic", "columns", "rows", "experiments"}


@pytest.mark.parametrize("wrong", [None, 7.0])
def test_an_error_quotes_the_beginning_of_a_prompt(log, wrong):
    table = pq.read_table(log / "log.parquet")
    rewards = pa.array([wrong, *table["reward"].to_pylist()[1:]])
    pq.write_table(table.set_column(3, "reward", rewards), log / "log.parquet")
    ran = warmstart("evaluate", "log.parquet", *COLUMNS, "--policy", "constants", cwd=log)
    assert ran.returncode != 0
    assert "'reward'" in ran.stderr
    assert "prompt = 'my doctor sa…'" in ran.stderr
    assert "illness" not in ran.stdout + ran.stderr


def test_an_error_in_a_policy_quotes_the_beginning_of_a_prompt(log):
    names = {"context": ["tier", "prompt"], "action": "model", "reward": "reward"}
    with pytest.raises(ws.DecisionError, match="my doctor sa…") as raised:
        ws.evaluate({"wrong": lambda contexts: contexts["none"]}, ws.read_events(log / "log.parquet", **names))
    assert "illness" not in str(raised.value)


def test_an_error_quotes_the_beginning_of_a_line_with_a_prompt(tmp_path):
    rows = [f'"{PROMPTS[i % 6]}",{"ab"[i % 2]},{i % 2}' for i in range(30_000)]
    rows[25_000] = f'"{PROMPTS[0]}",a,{PROMPTS[1]}'
    (tmp_path / "log.csv").write_text("\n".join(["prompt,model,reward", *rows]))
    columns = ("--context", "prompt", "--action", "model", "--reward", "reward")
    ran = warmstart("evaluate", "log.csv", *columns, "--policy", "constants", cwd=tmp_path)
    assert "line 25002" in ran.stderr
    assert "doctor" in ran.stderr
    assert "illness" not in ran.stdout + ran.stderr
