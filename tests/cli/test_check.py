"""warmstart check in a pipeline: exit codes, one line why, reports for build servers."""

import json

import pyarrow.csv as pa_csv
import pytest
from tests.support.commands import warmstart
from tests.support.logs import random_log, table

import warmstart as ws

FILE = """[log]
events = "log.csv"
context = "context"
action = "action"
reward = "reward"
time = "time"
[evaluate]
tau = 0.1
live = false
[policies]
even = "uniform"
[check]
min_events = 300
verdict = ["better", "worse", "same", "cannot-tell"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    pa_csv.write_csv(table(random_log(1)), folder / "log.csv")
    (folder / "warmstart.toml").write_text(FILE)
    return folder


def test_conditions_of_the_file_that_are_met_exit_0_with_reports(folder):
    reports = ("--junit", "check.xml", "--markdown", "summary", "--out", "new.json")
    (folder / "summary").touch()  # as a build server makes it
    for _ in range(2):
        ran = warmstart("check", *reports, cwd=folder)
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("CHECK PASSED: 'even' at tau 0.1 meets 2 conditions.")
    assert 'failures="0"' in (folder / "check.xml").read_text()
    assert "CHECK PASSED" in (folder / "summary").read_text()
    assert ws.load_result(folder / "new.json")["even"].tau == 0.1


def test_a_condition_that_is_not_met_exits_3_with_one_line_why(folder):
    ran = warmstart("check", "--min-events", "301", "--junit", "failed.xml", cwd=folder)
    assert ran.returncode == 3
    why = "CHECK FAILED: 'even' at tau 0.1: min_events is 300, asked was at least 301."
    assert ran.stderr.splitlines() == ["Settings from warmstart.toml.", why]
    assert ran.stdout.splitlines()[0] == why
    assert 'failures="1"' in (folder / "failed.xml").read_text()
    ran = warmstart("check", "--min-events", "301", "--json", cwd=folder)
    assert (ran.returncode, json.loads(ran.stdout)["met"], json.loads(ran.stdout)["why"]) == (3, False, why)


def test_what_cannot_be_checked_exits_2_and_outputs_replace_no_input(folder):
    (folder / "none.toml").write_text(FILE.partition("[check]")[0])
    ran = warmstart("check", "--config", "none.toml", cwd=folder)
    assert (ran.returncode, "No condition is stated" in ran.stderr) == (2, True)
    ran = warmstart("check", "--junit", "log.csv", cwd=folder)
    assert (ran.returncode, "is an input" in ran.stderr) == (2, True)
    (folder / "mine.md").write_text("mine")
    ran = warmstart("check", "--markdown", "mine.md", cwd=folder)
    assert (ran.returncode, "warmstart did not write it" in ran.stderr) == (2, True)
    ran = warmstart("check", "--junit", "same.xml", "--markdown", "same.xml", cwd=folder)
    assert ran.returncode == 2
