"""The monitor command, and what evaluate takes of epochs."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart
from tests.support.epoch_worlds import World, as_table, day, decisions, draw

WORLD = World("epsilon-greedy", epochs=5, events=100, rate=0.3)
COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time", "--epoch", "day"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("epochs")
    log = draw(WORLD, 0)
    for epoch in range(WORLD.epochs):
        (folder / "days").mkdir(exist_ok=True)
        pq.write_table(log.table.slice(epoch * 100, 100), folder / "days" / f"{epoch}.parquet")
    pa_csv.write_csv(as_table(decisions(WORLD)), folder / "mine.csv")
    return folder


def test_a_folder_of_daily_files(folder):
    options = ["--policy", "mine=mine.csv", "--policy", "uniform", "--out", "lines.jsonl", "--html", "page.html"]
    first = warmstart("monitor", "days", *COLUMNS, *options, cwd=folder)
    assert first.returncode == 0, first.stderr
    assert "4 epochs reported, 4 of them new" in first.stdout
    assert "is not over" in first.stdout
    lines = (folder / "lines.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines[1:]] == [day(e)[:10] for e in range(4)]
    assert "Policies on a growing log" in (folder / "page.html").read_text()
    again = warmstart("monitor", "days", *COLUMNS, *options, "--until", day(5), "--json", cwd=folder)
    assert json.loads(again.stdout)["new"] == 1
    assert (folder / "lines.jsonl").read_text().splitlines()[1:4] == lines[1:4]


def test_the_file_is_no_input(folder):
    ran = warmstart("monitor", "days", *COLUMNS, "--policy", "uniform", "--out", "days/lines.jsonl", cwd=folder)
    assert ran.returncode == 2
    assert "lies in the input" in ran.stderr


def test_evaluate_until_and_by_epoch(folder):
    run = ["evaluate", "days", *COLUMNS, "--policy", "mine.csv", "--trained-until", "never"]
    found = json.loads(warmstart(*run, "--until", day(3), "--json", cwd=folder).stdout)
    assert [one["epoch"] for one in found["policies"][0]["by_epoch"]] == [day(e)[:10] for e in range(3)]
    assert found["propensities"]["epoch"] == "one day"
    shown = warmstart(*run, "--html", "epochs.html", cwd=folder)
    assert "at the end of every epoch at once" in shown.stdout
    assert "The value by epoch, over 5 epochs" in (folder / "epochs.html").read_text()


def test_progressive(folder):
    ran = warmstart("evaluate", "days", *COLUMNS, "--progressive", "--every", "2", "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert [step["learned_from"] for step in json.loads(ran.stdout)["steps"]] == [100, 100, 300, 300]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "uniform", "--progressive"], "--progressive learns its policies itself"),
        (["--progressive", "--select"], "takes one tau"),
        (["--progressive", "--propensities", "model"], "takes one tau"),
        (["--policy", "uniform", "--every", "2"], "--every is for --progressive"),
        (["--progressive", "--test-fraction", "0.5"], "takes one tau"),
        (["--policy", "uniform", "--first-epochs"], "need a unit"),
        (["--policy", "uniform", "--until", "2020-01-01"], "no whole epoch"),
    ],
)
def test_refusals(folder, options, message):
    ran = warmstart("evaluate", "days", *COLUMNS, *options, cwd=folder)
    assert ran.returncode in (1, 2)
    assert message in ran.stderr


def test_auto_is_refused_with_counts_and_says_what_training_recommends(folder):
    columns = [*COLUMNS[:-1], "auto"]
    ran = warmstart("evaluate", "days", *columns, "--policy", "uniform", "--test-from", day(3), cwd=folder)
    assert ran.returncode == 2
    assert "fixed before these events" in ran.stderr
    assert "The training window says" in ran.stderr


def test_first_epochs(folder):
    run = ["evaluate", "days", *COLUMNS, "--unit", "user", "--policy", "uniform", "--first-epochs", "--json"]
    found = json.loads(warmstart(*run, cwd=folder).stdout)
    assert found["policies"][0]["certified_lower"] is not None
