"""warmstart compare-propensities: text, JSON, exit codes."""

import json

import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart
from tests.support.epoch_logs import Blocks

COLUMNS = ["--context", "x0", "--context", "x1", "--action", "a", "--reward", "r", "--event-id", "i"]
SOURCES = ["--source", "shares", "--source", "model", "--source", "mixture"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    pq.write_table(Blocks(0, 2000, columns=2).log(), folder / "log.parquet")
    return folder


def run(folder, *more):
    return warmstart("compare-propensities", "log.parquet", *COLUMNS, *more, cwd=folder)


def test_the_table_and_what_it_means(folder):
    ran = run(folder, "--time", "at", "--epoch", "day", *SOURCES)
    assert ran.returncode == 0
    assert "Best by held-out log-loss: mixture" in ran.stdout
    assert "Epochs: one day (6)" in ran.stdout
    assert "mean weight" in ran.stdout


def test_json_says_the_same(folder):
    ran = run(folder, "--epoch", "block", "--json", *SOURCES)
    assert ran.returncode == 0
    said = json.loads(ran.stdout)
    assert (said["schema"], said["best"], said["events"]) == (1, "mixture", 2000)
    assert [set(source) for source in said["sources"]] == [
        {"name", "log_loss", "without", "calibration", "noise", "alarms", "detail"}
    ] * 3
    assert set(said["sources"][0]["alarms"]) == {
        "mean_weight",
        "standard_error",
        "imbalances",
        "rings",
        "code",
        "text",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--source", "magic"], 2, "cannot come from 'magic'"),
        (["--source", "mixture"], 2, "cannot come from 'mixture'"),
        (["--coarser", "x9"], 1, "no column 'x9'"),
        (["--epoch", "week"], 2, "need a time column"),
        (["--epoch", "versoin"], 1, "no column 'versoin'"),
    ],
)
def test_what_is_wrong_is_said_with_an_exit_code(folder, arguments, code, message):
    ran = run(folder, *arguments)
    assert ran.returncode == code
    assert message in ran.stderr
