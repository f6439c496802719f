"""Every error of the data, through the library and through the command: typed, told in a line, nothing written."""

import contextlib
import sys
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warmstart as ws
from warmstart.cli import main
from warmstart.engine import connect

HEAD = "page,ad,click,at\n"
GOOD = HEAD + "p,a,1,2026-01-01\np,b,0,2026-01-02\n"
PARQUET = b"PAR1" + bytes(100) + b"PAR1"


@dataclass(frozen=True)
class Case:
    """Files by name, what differs from a good call, and what must come of it."""

    error: type[ws.WarmstartError]
    message: str
    log: str | bytes | None = GOOD
    name: str = "log.csv"
    more: dict[str, str] = field(default_factory=dict)
    read: dict = field(default_factory=dict)
    call: dict = field(default_factory=dict)
    at: str | None = None
    fraction: float | None = None


CASES = {
    "no such file": Case(ws.SourceError, "There is no file 'log.csv'", None),
    "no such folder": Case(ws.SourceError, "The folder 'gone' does not exist", None, name="gone/log.csv"),
    "unknown ending": Case(ws.SourceError, "told by the ending", "x", name="log.xls"),
    "empty file": Case(ws.SourceError, "log.csv is empty", ""),
    "no parquet": Case(ws.SourceError, "Cannot read log.parquet", b"nothing of the kind", name="log.parquet"),
    "truncated": Case(ws.SourceError, "Cannot read log.parquet", PARQUET, name="log.parquet"),
    "not gzip": Case(ws.SourceError, "Cannot read log.csv.gz", b"plain", name="log.csv.gz"),
    "bytes that are no text": Case(ws.DataError, "log.csv", HEAD.encode() + b"\xff\xfe\x00,a,1,2026-01-01\n"),
    "ragged": Case(
        ws.SourceError, "log.csv, line 30002", HEAD + "p,a,1,2026-01-01\n" * 30_000 + "p,a,1,2026-01-01,9,9\n"
    ),
    "broken json": Case(ws.SourceError, "Cannot read log.json", '{"page": "p", "ad": \n', name="log.json"),
    "other columns": Case(
        ws.SourceError,
        "different schemas: 'click' is bigint and absent",
        more={"2.csv": "page,ad,at\np,a,2026-01-01\n"},
    ),
    "other order": Case(ws.SourceError, "in another order", more={"2.csv": "ad,page,click,at\na,p,1,2026-01-01\n"}),
    "other types": Case(
        ws.SourceError, "'click' is bigint and varchar", more={"2.csv": HEAD + "p,a,often,2026-01-01\n"}
    ),
    "other format": Case(ws.SourceError, "different formats", more={"2.json": '{"page": "p"}\n'}),
    "no rows": Case(ws.EmptyWindowError, "no rows", HEAD),
    "no such column": Case(ws.ColumnError, "has no column 'pge'", read={"context": "pge"}),
    "null": Case(ws.MissingValueError, "'ad' in 1 row", GOOD + "p,,1,2026-01-02\n"),
    "NaN": Case(ws.MissingValueError, "'click' in 2 rows", GOOD + "p,b,nan,2026-01-02\n" * 2),
    "infinity": Case(ws.MissingValueError, "'click' in 1 row", GOOD + "p,b,-inf,2026-01-02\n"),
    "every row lacks something": Case(
        ws.EmptyWindowError, "nothing is left", HEAD + "p,,1,2026-01-01\n", read={"drop_nulls": True}
    ),
    "outside": Case(ws.RewardRangeError, "1 value outside [0, 1]", GOOD.replace("p,b,0", "p,b,7")),
    "outside the range given": Case(ws.RewardRangeError, "outside [2, 5]", read={"ranges": {"click": (2.0, 5.0)}}),
    "no range": Case(ws.UsageError, "is not a range", read={"ranges": {"click": (1.0, 0.0)}}),
    "no number": Case(ws.ColumnError, "has type string", GOOD.replace("p,b,0", "p,b,often")),
    "no time": Case(
        ws.MissingValueError, "'at' is no time in 1 row", GOOD.replace("2026-01-02", "soon"), read={"time": "at"}
    ),
    "mixed zones": Case(
        ws.ColumnError,
        "1 have a zone and 1 have none",
        '{"page":"p","ad":"a","click":1,"at":"2026-01-01T00:00:00Z"}\n'
        '{"page":"p","ad":"b","click":1,"at":"01 Jan 2026"}\n'.replace("01 Jan 2026", "2026-01-02T00:00:00"),
        name="log.jsonl",
        read={"time": "at"},
    ),
    "no epoch": Case(
        ws.ColumnError, "look like dates written", HEAD + "p,a,1,20260101\np,a,0,20260102\n", read={"time": "at"}
    ),
    "given twice": Case(ws.UsageError, "given 2 times", read={"context": ["page", "page"]}),
    "empty window": Case(ws.EmptyWindowError, "later window has no events", read={"time": "at"}, at="2030-01-01"),
    "split without time": Case(ws.UsageError, "without a time column", fraction=0.5),
    "tau too high": Case(ws.UsageError, "tau must lie in (0, 1]", call={"tau": 1.5}),
    "tau zero": Case(ws.UsageError, "tau must lie in (0, 1]", call={"tau": 0.0}),
    "delta": Case(ws.UsageError, "delta must lie between 0 and 1", call={"delta": 1.0}),
    "interval": Case(ws.UsageError, "There is no interval 'wald'", call={"interval": "wald"}),
    "train without a split": Case(ws.UsageError, "no training window", call={"propensities": "train"}),
    "no such policy": Case(ws.WarmstartError, "There is no file 'mine.csv'", call={"policies": "mine.csv"}),
    "decisions of elsewhere": Case(
        ws.DecisionError,
        "decides no context",
        more={"decisions.csv": "page,ad\nq,a\n"},
        call={"policies": "decisions.csv"},
    ),
    "no database": Case(ws.SourceError, "Cannot read log.duckdb", b"nothing of the kind", name="log.duckdb"),
    "a table of files": Case(ws.UsageError, "is no database", read={"table": "events"}),
    "a table of nowhere": Case(ws.SourceError, "has no table 'events'", None, name="", read={"table": "events"}),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path, monkeypatch):
    case = CASES[request.param]
    files = {**({} if case.log is None else {case.name: case.log}), **case.more}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    yield case
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


def sources(case):
    return [name for name in (case.name, *case.more) if name and "decisions" not in name]


def use_the_library(case):
    names = {"context": "page", "action": "ad", "reward": "click", **case.read}
    events, train = ws.read_events(sources(case) or None, **names), None
    if case.at or case.fraction:
        train, events = events.split(at=case.at, fraction=case.fraction)
    call = {"policies": "uniform", "tau": 0.1, **case.call}
    ws.evaluate(call.pop("policies"), events, train=train, **call)


def test_in_the_library(case):
    with pytest.raises(case.error) as inputs:
        use_the_library(case)
    assert case.message in inputs.value.message


def test_on_the_command_line(case, monkeypatch, capsys):
    options = {"context": "page", "action": "ad", "reward": "click", **case.read}
    options |= {"policy": case.call.get("policies", "uniform"), "tau": 0.1, "test_from": case.at}
    options |= {"test_fraction": case.fraction, **{name: v for name, v in case.call.items() if name != "policies"}}
    command = ["warmstart", "evaluate", *sources(case)]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            command += [part for one, (low, high) in value.items() for part in ("--range", f"{one}={low}:{high}")]
        elif value is True:
            command.append(flag)
        elif isinstance(value, list):
            command += [part for one in value for part in (flag, one)]
        elif value is not None:
            command += [flag, *map(str, value if isinstance(value, tuple) else [value])]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    shown = capsys.readouterr()
    assert left.value.code == (2 if issubclass(case.error, ws.UsageError) else 1)
    assert shown.err.startswith("error: ")
    assert case.message in shown.err
    assert shown.out == ""


def big_log(path):
    rows = 400_000
    names = [[f"{what} {i}" for i in range(rows)] for what in ("page", "ad")]
    pq.write_table(pa.table({"page": names[0], "ad": names[1], "click": [0.0] * rows}), path)


def test_memory_exhausted_on_the_command_line(tmp_path, monkeypatch, capsys):
    big_log(tmp_path / "log.parquet")
    (tmp_path / "taken").write_text("a file where the folder for spilling should be")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "taken"))
    names = ["--context", "page", "--action", "ad", "--reward", "click", "--policy", "uniform", "--tau", "0.1"]
    limits = ["--memory-limit", "40MB", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["warmstart", "evaluate", str(tmp_path / "log.parquet"), *names, *limits])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith("error: DuckDB")


def test_disk_exhausted(tmp_path):
    big_log(tmp_path / "log.parquet")
    engine = connect(memory_limit="40MB", threads=1)
    engine.backend.settings["max_temp_directory_size"] = "1MB"
    events = ws.read_events(tmp_path / "log.parquet", context="page", action="ad", reward="click", engine=engine)
    with pytest.raises(ws.EngineError, match="ran out of memory"):
        ws.evaluate("uniform", events, tau=0.1)


def test_a_table_that_goes_away_while_it_is_read():
    import ibis

    connection = ibis.duckdb.connect()
    stored = connection.create_table("log", pa.table({"page": ["p"], "ad": ["a"], "click": [1]}))
    events = ws.read_events(stored, context="page", action="ad", reward="click")
    connection.drop_table("log")
    with pytest.raises(ws.EngineError, match="could not run the query"):
        ws.evaluate("uniform", events, tau=0.1)


def test_a_database_that_another_process_writes(tmp_path):
    import subprocess

    path = tmp_path / "log.duckdb"
    script = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout.readline() == "open\n"
        with pytest.raises(ws.SourceError, match=r"Cannot read .*log.duckdb"):
            ws.read_events(path, context="page", action="ad", reward="click")
        writer.communicate("\n")


def test_drop_nulls_goes_on_and_says_how_many(tmp_path, monkeypatch, capsys):
    (tmp_path / "log.csv").write_text(GOOD + "p,,1,2026-01-02\n")
    monkeypatch.chdir(tmp_path)
    command = ["warmstart", "evaluate", "log.csv", "--context", "page", "--action", "ad", "--reward", "click"]
    monkeypatch.setattr(sys, "argv", [*command, "--policy", "uniform", "--tau", "0.1", "--drop-nulls"])
    with contextlib.suppress(SystemExit):
        main()
    assert "1 row without a value left out" in capsys.readouterr().out


def test_a_table_of_a_duckdb_file(tmp_path, monkeypatch, capsys):
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE \"my log\" AS SELECT 'p' AS page, i % 2 AS ad, i % 3 = 0 AS click FROM range(9) t(i)"
        )
    names = {"context": "page", "action": "ad", "reward": "click"}
    alone = ws.evaluate("logging", ws.read_events(path, **names), tau=0.1)["logging"].value
    assert alone == pytest.approx(1 / 3)
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE SCHEMA other; CREATE TABLE other.log AS SELECT * FROM "my log"')
    with pytest.raises(ws.UsageError, match=r"has 2 tables: 'my log', 'other\.log'"):
        ws.read_events(path, **names)
    assert len(ws.read_events(path, table="other.log", **names)) == 9
    command = ["warmstart", "evaluate", str(path), "--context", "page", "--action", "ad", "--reward", "click", "--json"]
    monkeypatch.setattr(sys, "argv", [*command, "--policy", "logging", "--tau", "0.1", "--table", "my log"])
    with contextlib.suppress(SystemExit):
        main()
    assert '"value": 0.3333333333333333' in capsys.readouterr().out


def test_threads_that_cannot_be_started_are_out_of_memory(tmp_path, monkeypatch, capsys):
    def no_thread(**_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("warmstart.cli.app.app", no_thread)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith("error: Out of memory: no further thread could be started. (WS402)\n")


@pytest.mark.parametrize("threads", [0, -1, 4_097, 10**12])
def test_no_engine_is_started_with_threads_that_no_machine_has(threads):
    with pytest.raises(ws.UsageError, match="threads must lie between 1 and 4,096"):
        connect("duckdb", threads=threads)
