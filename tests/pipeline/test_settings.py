"""Settings that commands share: declared once, checked in one place, the same in Python and on the command line."""

import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import typer
from tests.support.logs import moment, random_log, read, table

import warmstart as ws
from warmstart import pipeline
from warmstart.cli.app import app
from warmstart.pipeline import EngineSettings, LogSettings, WindowSettings, training_window

NAMES = {"context": ["context"], "action": "action", "reward": "reward"}


def options(command):
    found = typer.main.get_command(app).commands[command]
    return {name for param in found.params for name in param.opts}


@pytest.mark.parametrize("command", ["audit", "evaluate", "fit", "export", "compare-propensities"])
def test_every_command_that_reads_a_log_takes_every_setting_of_one(command):
    others = {"--also", "--minimize"}
    lacking = {
        "audit": {"--propensity", "--epoch", *others},
        "fit": {"--propensity"},
        "export": {"--epoch", *others},
        "compare-propensities": others,
    }
    left_out = lacking.get(command, set())
    fields = LogSettings.__dataclass_fields__.values()
    declared = {one.metadata.get("flag") or f"--{one.name.replace('_', '-')}" for one in fields} - {"--events"}
    assert {"--event-id", "--range", *declared} - left_out <= options(command)
    assert not left_out & options(command)
    assert {f"--{name.replace('_', '-')}" for name in EngineSettings.__dataclass_fields__} <= options(command)


def test_a_log_is_opened_with_its_settings(tmp_path):
    rows = table(random_log(1))
    pq.write_table(rows.append_column("id", [list(range(rows.num_rows))]), tmp_path / "log.parquet")
    settings = LogSettings(events=[str(tmp_path / "log.parquet")], **NAMES, time="time", event_id="id")
    events = settings.open(EngineSettings(memory_limit="1GB", threads=1).connect())
    assert len(events) == rows.num_rows
    assert (events.columns.event_id, events.columns.time) == ("id", "time")
    assert [len(test) for _, test in events.split(folds=2)] != [0, 0]
    with pytest.raises(ws.UsageError, match="Name the log"):
        LogSettings(**NAMES)


def test_memory_and_threads_can_be_limited_from_python():
    engine = ws.connect("duckdb", memory_limit="1GB", threads=1)
    events = ws.read_events(table(random_log(1)), **NAMES, engine=engine)
    assert events.engine is engine
    assert engine.backend.raw_sql("SELECT current_setting('threads')").fetchone() == (1,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test_from": "2026-10-03", "test_fraction": 0.5}, r"test_from \(--test-from\) and .* exclude each other"),
        ({"train_until": moment(3), "train_fraction": 0.5}, "exclude each other"),
        ({"test_fraction": 1.0}, r"test_fraction \(--test-fraction\) must lie between 0 and 1, and is 1"),
        ({"train_fraction": float("nan")}, "must lie between 0 and 1"),
    ],
)
def test_windows_that_cannot_be_are_refused_in_one_place(settings, message):
    with pytest.raises(ws.UsageError, match=message):
        WindowSettings(**settings)
    events, kind = read(random_log(1), "duckdb"), next(iter(settings)).split("_")[0]
    with pytest.raises(ws.UsageError, match=message):
        (training_window if kind == "train" else ws.evaluation_windows)(events, **settings)


def test_the_training_window_is_the_first_events_or_all():
    events = read(random_log(1), "duckdb")
    assert training_window(events) is events
    assert len(training_window(events, train_fraction=0.5)) == 150
    assert training_window(events, train_until=moment(3)).window.last < events.log.microseconds(moment(3))


def test_the_evaluated_window_begins_after_what_policies_learned_from():
    events = read(random_log(1), "duckdb")
    train, test = events.split(at=moment(3))
    earlier, later = (ws.fit(part, weight_bits=8) for part in (events.split(at=moment(2))[0], train))
    for policies in (later, [earlier, later, "uniform"], {"a": later, "b": "logging"}):
        windows = ws.evaluation_windows(events, policies)
        assert [str(window.window) for window in windows] == [str(train.window), str(test.window)]
    assert len(ws.evaluation_windows(events, earlier)[0]) < len(train)
    certified = ws.evaluate({"it": later}, windows[1], train=windows[0], tau=0.1)["it"]
    assert certified.certified_lower is not None
    assert ws.evaluate({"it": later}, events, tau=0.1, estimators=["ips"])["it"].certified_lower is None


def test_without_learned_policies_or_times_the_whole_log_is_evaluated():
    events = read(random_log(1), "duckdb")
    learned = ws.fit(events.split(at=moment(3))[0], weight_bits=8)
    assert ws.evaluation_windows(events) == (None, events)
    assert ws.evaluation_windows(events, ["uniform", "logging"]) == (None, events)
    assert ws.evaluation_windows(events, table(random_log(1)).select(["context", "action"]))[1] is events
    _, later = events.split(at=moment(4))
    assert ws.evaluation_windows(later, learned) == (None, later)
    timeless = read(random_log(1), "duckdb", time=False)
    assert ws.evaluation_windows(timeless, learned) == (None, timeless)


def test_a_stated_split_is_taken_whatever_policies_learned_from():
    events = read(random_log(1), "duckdb")
    learned = ws.fit(events.split(at=moment(3))[0], weight_bits=8)
    _, test = ws.evaluation_windows(events, learned, test_from=moment(1))
    assert test.window.first == events.log.microseconds(moment(1))
    _, test = ws.evaluation_windows(events, learned, test_fraction=0.25)
    assert len(test) == 75


def test_the_door_shows_functions_however_their_modules_were_imported():
    code = "import warmstart.pipeline.fit, warmstart.pipeline as p; print(callable(p.fit), callable(p.evaluate))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True True\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        pipeline.nothing  # noqa: B018
