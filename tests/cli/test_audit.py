"""The audit command: words on a terminal, JSON in a pipe, a page and a table as files."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart, warmstart_process
from tests.support.logs import random_log, read, table

import warmstart as ws

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    pq.write_table(table(random_log(1)), folder / "log.parquet")
    return folder


def audit(folder, *arguments, run=warmstart):
    return run("audit", "log.parquet", *COLUMNS, *arguments, cwd=folder)


def leaves(found):
    """Everything that is not a list or an object, by its path."""
    if not isinstance(found, dict | list):
        return {"": found}
    parts = found.items() if isinstance(found, dict) else enumerate(found)
    return {f"/{name}{path}": leaf for name, part in parts for path, leaf in leaves(part).items()}


def test_json_to_a_pipe_is_nothing_but_the_json_and_says_what_the_library_says(folder):
    ran = audit(folder, "--json", run=warmstart_process)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    expected = json.loads(ws.audit(read(random_log(1), "duckdb")).to_json())
    assert set(found) == {
        *("log", "exploration", "origin", "checks", "context_drift", "churn", "power", "explore", "units", "epochs"),
        *("reward_range", "verdict", "warmstart_version", "schema", "kind", "assumptions", "headline", "explanations"),
    }
    assert len(found["verdict"]) == 3
    for one in (expected, found):
        source, one["log"]["source"] = one["log"]["source"], ""
        one["headline"][-1] = one["headline"][-1].replace(source, "")
    assert leaves(found) == pytest.approx(leaves(expected))


def test_the_verdict_is_the_first_thing_said(folder):
    ran = audit(folder)
    assert ran.returncode == 0
    first, *others = ran.stdout.split("\n\n")[0].splitlines()
    assert first.startswith("VERDICT: ")
    assert not any("VERDICT" in line for line in others)
    assert others[-1].startswith("'reward': what was shown got ")
    assert "Where the choice comes from" in ran.stdout


def test_a_page_and_a_table_of_contexts_are_written(folder, tmp_path):
    ran = audit(folder, "--html", str(tmp_path / "audit.html"), "--explore-out", str(tmp_path / "first.csv"))
    assert ran.returncode == 0
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    rows = pa_csv.read_csv(tmp_path / "first.csv")
    assert rows.column_names == ["context", "action", "events", "traffic", "reward"]
    expected = ws.audit(read(random_log(1), "duckdb")).explore
    assert rows["events"].to_pylist() == [row[2] for row in expected.rows]
    assert audit(folder, "--explore-out", str(tmp_path / "first.parquet")).returncode == 0
    assert pq.read_table(tmp_path / "first.parquet").column_names == rows.column_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "gone/audit.html"], "There is no folder 'gone'"),
        (["--explore-out", "first.xls"], ".csv or .parquet"),
        (["--explore-out", "gone/first.csv"], "There is no folder 'gone'"),
    ],
)
def test_outputs_without_a_place_are_refused_before_the_work(folder, arguments, message):
    ran = audit(folder, *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["log.parquet"]


def test_evaluate_writes_a_page_too(folder, tmp_path):
    command = ["evaluate", "log.parquet", *COLUMNS, "--policy", "uniform"]
    ran = warmstart(*command, "--tau", "0.1", "--html", tmp_path / "page.html", "--json", cwd=folder)
    assert ran.returncode == 0
    assert {part["kind"] for part in json.loads(ran.stdout)["contributions"]} == {"context", "action"}
    assert "What other policies would have earned" in (tmp_path / "page.html").read_text(encoding="utf-8")
