"""Little memory, a full disk: the same answer, or a clear error and nothing half-written."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.core.errors import EngineError
from warmstart.engine import connect

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
COLUMNS = [word for name, column in NAMES.items() for word in (f"--{name}", column)]
SMALL_FILES = 400_000


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of about as many cells as events, which are the hardest to sum."""
    rng, events = np.random.default_rng(0), 600_000
    path = tmp_path_factory.mktemp("pressure") / "log.parquet"
    columns = {
        "page": rng.integers(150_000, size=events),
        "ad": rng.integers(40, size=events),
        "click": (rng.random(events) < 0.1).astype(np.int8),
        "shown_at": np.sort(rng.integers(1_790_000_000, 1_791_000_000, size=events)),
    }
    pq.write_table(pa.table(columns), path)
    return path


def command(*words, small_files=False, stdout=subprocess.PIPE, spill=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_FILES, SMALL_FILES))

    return subprocess.run(
        [sys.executable, "-m", "warmstart", *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit if small_files else None,
        env={**os.environ, **({} if spill is None else {"TMPDIR": str(spill)})},
        check=False,
    )


EVALUATE = ("--policy", "uniform", "--policy", "logging", "--test-fraction", "0.5", "--tau", "0.05", "--json")


@pytest.mark.parametrize(("asked", "by"), [("materialise", "_cached_table"), ("fetch", "con"), ("fetch_arrow", "con")])
def test_where_several_threads_run_out_of_memory_one_tries_again(monkeypatch, asked, by):
    engine = connect("duckdb", threads=2)
    numbers = engine.open_arrow(pa.table({"i": [1, 2, 3]}))
    connection, keep, seen = engine.backend.con, engine.backend._cached_table, []

    def refuse_several():
        seen.append(connection.execute("SELECT current_setting('threads')").fetchone()[0])
        if seen[-1] > 1:
            raise duckdb.OutOfMemoryException("too many threads")

    class Crowded:
        def execute(self, query):
            if "thread" not in query:
                refuse_several()
            return connection.execute(query)

    def keep_with_one(expression):
        refuse_several()
        return keep(expression)

    with monkeypatch.context() as crowded:
        crowded.setattr(engine.backend, by, keep_with_one if by == "_cached_table" else Crowded())
        found = getattr(engine, asked)(numbers)
    rows = {"materialise": engine.fetch, "fetch": list, "fetch_arrow": pa.Table.to_pylist}[asked](found)
    assert rows == [{"i": 1}, {"i": 2}, {"i": 3}]
    assert seen == [2, 1]
    assert connection.execute("SELECT current_setting('threads')").fetchone()[0] == 2


def test_where_one_thread_runs_out_of_memory_nothing_is_tried_again(monkeypatch):
    engine, tries = connect("duckdb", threads=1), []

    def refuse(expression):
        tries.append(expression)
        raise duckdb.OutOfMemoryException("nothing left")

    monkeypatch.setattr(engine.backend, "_cached_table", refuse)
    with pytest.raises(EngineError, match="ran out of memory"):
        engine.materialise(engine.open_arrow(pa.table({"i": [1]})))
    assert len(tries) == 1


def test_a_memory_limit_changes_no_number(log):
    limited = command("evaluate", log, *COLUMNS, *EVALUATE, "--memory-limit", "100MB", "--threads", "1")
    assert limited.returncode == 0, limited.stderr
    free = command("evaluate", log, *COLUMNS, *EVALUATE)
    found, expected = (json.loads(ran.stdout)["policies"] for ran in (limited, free))
    for one, other in zip(found, expected, strict=True):
        for name in ("value", "lower", "upper", "matched", "effective_sample_size"):
            assert one[name] == pytest.approx(other[name], rel=1e-9), name


def test_what_is_asked_of_the_engine_is_what_it_does():
    engine = connect("duckdb", memory_limit="300MB", threads=1)
    asked = "SELECT current_setting('memory_limit'), current_setting('threads')"
    memory, threads = engine.backend.con.execute(asked).fetchone()
    assert (memory, threads) == ("286.1 MiB", 1)
    assert engine.room == 75e6


@pytest.mark.parametrize("limit", ["much", "-1", "0GB", "1e9GB", "4XB", "9999999TB", "101%", "0%", "", "4"])
def test_what_is_no_memory_limit_is_refused(limit):
    with pytest.raises(ws.UsageError, match="is not a memory limit"):
        connect("duckdb", memory_limit=limit)


def test_a_query_that_fails_leaves_no_table(monkeypatch):
    engine = connect("duckdb", threads=1)
    kept = engine.materialise(engine.open_arrow(pa.table({"i": [1]})))
    text = engine.open_arrow(pa.table({"i": ["one"]}))
    with pytest.raises(EngineError):
        engine.materialise(text.mutate(i=text.i.cast("int64")))
    count = "SELECT count(*) FROM duckdb_tables() WHERE temporary"
    assert engine.backend.con.execute(count).fetchone() == (1,)
    assert engine.fetch(kept) == [{"i": 1}]


def test_no_room_for_what_does_not_fit_in_memory(log, tmp_path):
    page, spill = tmp_path / "page.html", tmp_path / "spill"
    spill.mkdir()
    words = ("evaluate", log, *COLUMNS, *EVALUATE, "--memory-limit", "60MB", "--threads", "1", "--html", page)
    ran = command(*words, small_files=True, spill=spill)
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr.startswith("error: DuckDB ")
    assert "hint: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == [spill]
    assert list(spill.iterdir()) == []


def test_a_full_disk_leaves_nothing_half_written(log, tmp_path):
    words = ("fit", log, *COLUMNS, "--fit-tau", "1", "--weight-bits", "18", "--out", tmp_path / "policy")
    ran = command(*words, small_files=True)
    assert ran.returncode == 1
    assert f"error: Cannot write {tmp_path / 'policy'}: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_behind_the_output(tmp_path):
    small = {
        "page": [1] * 4,
        "ad": [1, 2, 1, 2],
        "click": [0, 1, 1, 1],
        "shown_at": range(1_790_000_000, 1_790_000_004),
    }
    pq.write_table(pa.table(small), tmp_path / "small.parquet")
    words = ("evaluate", tmp_path / "small.parquet", *COLUMNS, "--policy", "uniform", "--tau", "0.05", "--json")
    assert warmstart(*words).returncode == 0
    with Path("/dev/full").open("w") as full:
        ran = command(*words, stdout=full)
    assert ran.returncode == 1
    assert "error: Cannot write the output: No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr
