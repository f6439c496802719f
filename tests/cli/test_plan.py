"""The plan command: words, JSON, a page, and a table of what to show, never onto an input."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart, warmstart_process
from tests.support.logs import random_log, read, table

import warmstart as ws

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time"]
ASKED = ["--policy", "constant:a0", "--gain", "0.1", "--share", "0.3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    pq.write_table(table(random_log(1)), folder / "log.parquet")
    return folder


def plan(folder, *arguments, run=warmstart):
    return run("plan", "log.parquet", *COLUMNS, *arguments, cwd=folder)


def test_json_to_a_pipe_is_what_the_library_says(folder):
    ran = plan(folder, *ASKED, "--json", run=warmstart_process)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    expected = ws.plan("constant:a0", read(random_log(1), "duckdb"), gain=0.1, share=0.3).to_dict()
    assert found["kind"] == "plan"
    numbers = {name: value for name, value in expected.items() if isinstance(value, float)}
    assert {name: found[name] for name in numbers} == pytest.approx(numbers, abs=1e-9)
    for one in (found, expected):
        one["headline"][-1] = one["headline"][-1].replace(one["source"], "")
    leave = {**dict.fromkeys(numbers), "source": ""}
    assert {**found, **leave} == {**expected, **leave}


def test_the_verdict_is_the_first_thing_said(folder):
    ran = plan(folder, *ASKED)
    assert ran.returncode == 0
    assert ran.stdout.startswith("Show the choices of 'constant:a0' on 30 % of the events of ")
    assert "Then evaluate the new events alone" in ran.stdout


@pytest.mark.parametrize("name", ["show.csv", "show.parquet"])
def test_a_table_and_a_page_are_written(folder, tmp_path, name):
    ran = plan(folder, *ASKED, "--out", str(tmp_path / name), "--html", str(tmp_path / "plan.html"))
    assert ran.returncode == 0
    read_table = pa_csv.read_csv if name.endswith("csv") else pq.read_table
    rows = read_table(tmp_path / name)
    assert rows.column_names == ["context", "action", "probability"]
    assert len(rows) > 0
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_nothing_is_written_onto_an_input_or_as_something_else(folder):
    decisions = folder / "decisions.csv"
    decisions.write_text("context,action\nx0,a0\n")
    for asked in (["--out", "log.parquet", *ASKED], ["--policy", "new=decisions.csv", "--out", "decisions.csv"]):
        ran = plan(folder, *asked, "--force")
        assert ran.returncode != 0
        assert ran.stderr.startswith("error: ")
    assert decisions.read_text() == "context,action\nx0,a0\n"
    assert "writes .csv or .parquet" in plan(folder, *ASKED, "--out", "show.txt").stderr
    assert "named twice" in plan(folder, *ASKED, "--out", "show.csv", "--html", "show.csv").stderr
