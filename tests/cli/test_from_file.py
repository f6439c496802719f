"""Commands read warmstart.toml: no column options are needed then, and what an option says wins."""

import json

import pyarrow.csv as pa_csv
import pytest
from tests.support.commands import warmstart
from tests.support.logs import random_log, table

FILE = """version = 1
[log]
events = "log.csv"
context = "context"
action = "action"
reward = "reward"
time = "time"
also = ["reward_2"]
minimize = ["reward_2"]
ranges = {reward_2 = [0, 2]}
epoch = "day"
[windows]
test_fraction = 0.5
[evaluate]
tau = 0.2
live = false
guards = ["reward_2<=+0.9"]
[policies]
even = "uniform"
"""
COLUMNS = ("--context", "context", "--action", "action", "--reward", "reward")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    rows = table(random_log(1))
    pa_csv.write_csv(rows.append_column("reward_2", rows["reward"]), folder / "log.csv")
    (folder / "warmstart.toml").write_text(FILE)
    return folder


def told(*arguments, cwd):
    ran = warmstart(*arguments, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[0] == "Settings from warmstart.toml."
    return json.loads(ran.stdout)


def test_an_evaluation_needs_no_option(folder):
    found = told("evaluate", cwd=folder)
    assert {(one["policy"], one["tau"]) for one in found["policies"]} == {("even", 0.2)}
    assert [one["name"] for one in found["outcomes"]] == ["reward", "reward_2"]
    assert found["windows"]["evaluated"]["events"] == 150
    assert found["policies"][0]["guards"][0]["guard"] == "reward_2<=+0.9"
    assert found["propensities"]["epoch"] == "one day"


def test_options_win_over_the_file(folder):
    options = ("--tau", "0.1", "--policy", "constant:a0", "--test-from", "2026-10-05", "--reward", "reward_2")
    found = told("evaluate", "log.csv", *options, "--also", "reward", "--guard", "reward>=-0.5", cwd=folder)
    assert {(one["policy"], one["tau"]) for one in found["policies"]} == {("constant:a0", 0.1)}
    assert [(one["name"], one["high"]) for one in found["outcomes"]] == [("reward_2", 2.0), ("reward", 1.0)]
    assert found["windows"]["evaluated"]["from"] >= "2026-10-05"


def test_commands_take_what_they_have_a_place_for(folder, tmp_path):
    assert told("evaluate", "--progressive", cwd=folder)["kind"] == "progressive"
    assert told("plan", "--gain", "0.1", "--share", "0.3", cwd=folder)["policy"] == "even"
    assert told("monitor", "--out", tmp_path / "lines.jsonl", cwd=folder)["lines"]
    # Epochs and further outcomes are for a proof; that a file names them is no reason to refuse.
    ran = warmstart("fit", "--out", tmp_path / "policy", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "policy" / "policy.json").is_file()
    ran = warmstart("fit", "--epoch", "day", "--out", tmp_path / "other", cwd=folder)
    assert (ran.returncode, "--epoch is for a proof" in ran.stderr) == (2, True)


def test_another_file_can_be_named_and_an_empty_one_says_nothing(folder, tmp_path):
    (folder / "other.toml").write_text(FILE.replace("tau = 0.2", "tau = 0.3"))
    ran = warmstart("evaluate", "--config", folder / "other.toml", "--json", cwd=tmp_path)
    assert json.loads(ran.stdout)["policies"][0]["tau"] == 0.3
    (folder / "empty.toml").write_text("")
    ran = warmstart("evaluate", "log.csv", *COLUMNS, "--config", "empty.toml", "--json", cwd=folder)
    assert "No policy is named" in ran.stderr
    assert {one["policy"] for one in json.loads(ran.stdout)["policies"]} == {f"constant:a{i}" for i in range(5)}
    ran = warmstart("evaluate", "--config", "absent.toml", cwd=folder)
    assert (ran.returncode, "absent.toml: No such file" in ran.stderr) == (2, True)


def test_what_neither_says_is_missing_and_what_is_wrong_has_its_line(tmp_path):
    ran = warmstart("audit", "log.csv", cwd=tmp_path)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, "error: Missing option --context. (WS301)")
    assert "warmstart init" in ran.stderr
    (tmp_path / "warmstart.toml").write_text("version = 1\n[log]\nactoin = 'a'\n")
    ran = warmstart("audit", "log.csv", *COLUMNS, cwd=tmp_path)
    assert (ran.returncode, ran.stderr.splitlines()) == (
        2,
        ["error: warmstart.toml, line 3: there is no log.actoin. (WS302)", "hint: Did you mean action?"],
    )
    (tmp_path / "warmstart.toml").write_text("version = 1\n")
    ran = warmstart("monitor", "log.csv", *COLUMNS, "--epoch", "day", "--out", "lines.jsonl", cwd=tmp_path)
    assert (ran.returncode, "Missing option --policy" in ran.stderr) == (2, True)


def test_a_command_that_takes_one_policy_says_which_of_the_file_it_may_be(folder, tmp_path):
    for policies, says in (
        ('constants = "constants"', "Name one: --policy constant:ACTION."),
        ('a = "uniform"\nb = "constant:a1"', "Name one: --policy a=uniform or --policy b=constant:a1."),
    ):
        (folder / "which.toml").write_text(f"version = 1\n[policies]\n{policies}\n")
        ran = warmstart("plan", "log.csv", *COLUMNS, "--gain", "0.1", "--config", "which.toml", cwd=folder)
        assert (ran.returncode, ran.stderr.splitlines()[-1]) == (2, f"hint: {says}")
    (folder / "which.toml").write_text('version = 1\n[policies]\nall = "constants"\neven = "uniform"\n')
    more = ("--gain", "0.1", "--share", "0.3", "--config", "which.toml")
    ran = warmstart("plan", "log.csv", *COLUMNS, *more, "--json", cwd=folder)
    assert json.loads(ran.stdout)["policy"] == "even"
