"""Files as people have them, on every engine; and files that cannot be one log."""

import gzip
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.logs import every_event, random_log, table

import warmstart as ws

NAMES = {"context": "context", "action": "action", "reward": "reward", "time": "time"}


@pytest.fixture(scope="module")
def log():
    return table(random_log(1, events=60))


@pytest.fixture(scope="module")
def expected(log):
    return contents(log)


def contents(source, **options):
    return every_event(ws.read_events(source, **{**NAMES, **options}))


def ws_time(microseconds):
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M}"


def write_json(log, path):
    rows = [json.dumps({**row, "time": row["time"].isoformat()}) for row in log.to_pylist()]
    text = ("\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def test_json_lines(log, expected, tmp_path, engine):
    for name in ("log.jsonl", "log.ndjson.gz"):
        write_json(log, tmp_path / name)
        assert contents(tmp_path / name, engine=engine) == expected


@pytest.mark.slow_on_spark
def test_compressed_csv_and_tabs(log, expected, tmp_path, engine):
    pa_csv.write_csv(log, tmp_path / "log.csv")
    with gzip.open(tmp_path / "log.csv.gz", "wb") as file:
        file.write((tmp_path / "log.csv").read_bytes())
    pa_csv.write_csv(log, tmp_path / "log.tsv", pa_csv.WriteOptions(delimiter="\t"))
    for name in ("log.csv.gz", "log.tsv"):
        assert contents(tmp_path / name, engine=engine) == expected, name


@pytest.mark.slow_on_spark
def test_a_folder_with_leftovers(log, expected, tmp_path, engine):
    for i in range(3):
        pq.write_table(log.slice(20 * i, 20), tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part-0.parquet.crc").write_text("?")
    assert contents(tmp_path, engine=engine) == expected


def test_hive_partitions_become_columns(log, expected, tmp_path, engine):
    for action in sorted(set(log["action"].to_pylist())):
        folder = tmp_path / f"action={action}"
        folder.mkdir()
        pq.write_table(log.filter(pa.compute.field("action") == action).drop(["action"]), folder / "part.parquet")
    assert contents(tmp_path, engine=engine) == expected


def test_a_duckdb_relation(log, expected):
    import duckdb

    connection = duckdb.connect()
    connection.register("events", log)
    assert contents(connection.sql("SELECT * FROM events")) == expected


@pytest.mark.spark
def test_a_spark_frame_stays_where_it_is(log, expected, spark):
    frame = spark.session.createDataFrame(log)
    events = ws.read_events(frame, **NAMES)
    assert events.engine.name == "spark"
    assert every_event(events) == expected
    with pytest.raises(ws.SourceError, match="on Spark only"):
        ws.evaluate({"d": frame}, ws.read_events(log, **NAMES), tau=0.1)


@pytest.mark.spark
def test_a_file_in_a_storage_is_read_by_spark(log, expected, spark, tmp_path):
    pq.write_table(log, tmp_path / "log.parquet")
    where = f"file://{tmp_path}/log.parquet"
    events = ws.read_events(where, **NAMES, engine=spark.session)
    assert every_event(events) == expected
    with pytest.raises(ws.UsageError, match="is read by Spark alone"):
        ws.read_events(where, **NAMES)
    with pytest.raises(ws.SourceError, match="Spark cannot read"):
        ws.read_events("file:///nowhere/at-all.parquet", **NAMES, engine=spark)


@pytest.mark.spark
def test_a_csv_file_is_read_alike_however_it_is_written(spark, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('context;action;reward\n"a ""b""; c";x;1\n"two\nlines";y;0\nplain;x;1\n')
    columns = {"context": "context", "action": "action", "reward": "reward"}
    seen = []
    for engine in ("duckdb", spark):
        events = ws.read_events(path, **columns, engine=engine)
        seen.append(sorted((row["context_0"], row["action"]) for row in events.engine.fetch(events.table)))
    assert seen[0] == seen[1] == sorted([('a "b"; c', "x"), ("two\nlines", "y"), ("plain", "x")])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_decimal_commas_and_days_before_months_are_read(engine, tmp_path, ending):
    path = tmp_path / "export.csv"
    rows = ["Seite;Anzeige;Umsatz;Zeit", "a;x;0,25;01.02.2026 14:30", "b;y;0,5;13.02.2026 9:05", 'a;y;"1,0";1.3.2026']
    path.write_bytes(b"\xef\xbb\xbf" + ending.join([*rows, ""]).encode())
    events = ws.read_events(path, context="Seite", action="Anzeige", reward="Umsatz", time="Zeit", engine=engine)
    seen = sorted((row["reward"], ws_time(row["time"])) for row in events.engine.fetch(events.table))
    assert seen == [(0.25, "2026-02-01 14:30"), (0.5, "2026-02-13 09:05"), (1.0, "2026-03-01 00:00")]


def test_semicolons_do_not_make_decimal_commas(engine, tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text("page;ad;reward;note\n" + "p;x;0.25;1,5 or so\nq;y;0.5;none\n" * 3)
    events = ws.read_events(path, context=["page", "note"], action="ad", reward="reward", engine=engine)
    assert {row["context_1"] for row in events.engine.fetch(events.table)} == {"1,5 or so", "none"}


def test_words_for_null_are_null_in_numbers_and_stay_in_text(engine, tmp_path):
    for name, yes, no in (("points.csv", "1", "0"), ("commas.csv", "0,75", "0,25"), ("truths.csv", "true", "false")):
        rows = ["page;ad;reward", f"NA;x;{yes}", f"NULL;None;{no}", "p;x;NULL", "p;x;N/A"]
        (tmp_path / name).write_text("\n".join([*rows, ""]))
        options = {"context": "page", "action": "ad", "reward": "reward", "engine": engine}
        events = ws.read_events(tmp_path / name, **options, drop_nulls=True)
        rows = events.engine.fetch(events.table)
        numbers = {"0,75": (0.75, 0.25)}.get(yes, (1.0, 0.0))
        assert sorted((row["context_0"], row["action"], row["reward"]) for row in rows) == [
            ("NA", "x", numbers[0]),
            ("NULL", "None", numbers[1]),
        ]
        with pytest.raises(ws.MissingValueError, match="2"):
            ws.read_events(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("first", "last", "seen"),
    [
        ("03/01/2025", "04/02/2025", None),
        ("03/01/2025 08:00:00", "04/02/2025 08:00:00", None),
        ("03.01.25", "04.02.25", None),
        ("03/01/2025", "22/02/2025", "2025-01-03"),
        ("03/01/2025 08:00:00", "22/02/2025 18:30:00", "2025-01-03"),
        ("03/01/2025", "04/22/2025", "2025-03-01"),
        ("2025/01/03", "2025/02/22", "2025-01-03"),
    ],
)
@pytest.mark.slow_on_spark
def test_dates_are_not_read_where_days_could_be_months_or_years(tmp_path, engine, first, last, seen):
    (tmp_path / "log.csv").write_text(f"page;ad;click;at\np;x;1;{first}\nq;y;0;{last}\n")
    options = {"context": "page", "action": "ad", "reward": "click", "time": "at", "engine": engine}
    if seen is None:
        with pytest.raises(ws.DataError, match=r"'at' is no time in 2 rows .*at = '03"):
            ws.read_events(tmp_path / "log.csv", **options)
    else:
        events = ws.read_events(tmp_path / "log.csv", **options)
        assert ws_time(min(row["time"] for row in events.engine.fetch(events.table)))[:10] == seen


@pytest.mark.spark
def test_one_session_is_one_connection(log, spark):
    frame = spark.session.createDataFrame(log)
    one, other = (ws.read_events(frame, **NAMES) for _ in range(2))
    assert one.engine is not other.engine
    assert one.engine.holds(other.table)


def test_an_ibis_table_of_another_backend_stays_where_it_is(log, expected):
    import ibis

    stored = ibis.sqlite.connect().create_table("log", log)
    events = ws.read_events(stored, **NAMES)
    assert events.engine.name == "sqlite"
    early, late = events.split(fraction=0.5)
    there, here = (
        ws.evaluate(["uniform", "logging", "constant:a1"], test, train=train, tau=[0.1, 0.3], propensities="all")
        for train, test in ((early, late), ws.read_events(log, **NAMES).split(fraction=0.5))
    )
    for one, other in zip(there, here, strict=True):
        numbers = [(e.value, e.lower, e.upper, e.certified_upper, *vars(e.support).values()) for e in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-9)
    assert contents(stored) == expected


def test_a_backend_that_cannot_do_it_says_so(log):
    import ibis

    stored = ibis.sqlite.connect().create_table("log", log)
    with pytest.raises(ws.EngineError, match="sqlite could not run the query: no such function: MD5"):
        ws.read_events(stored, **NAMES).split(folds=2)


@pytest.mark.spark
def test_a_table_of_sparks_catalogue(log, expected, spark, tmp_path):
    spark.session.createDataFrame(log).createOrReplaceTempView("my_log")
    assert contents(None, table="my_log", engine=spark) == expected
    with pytest.raises(ws.SourceError, match="Spark cannot read your_log"):
        contents(None, table="your_log", engine=spark)
    (tmp_path / "log.duckdb").write_bytes(b"whatever")
    with pytest.raises(ws.SourceError, match=r"Spark cannot read .*log\.duckdb"):
        contents(tmp_path / "log.duckdb", engine=spark)


def test_names_that_differ_only_in_case_in_text_files(tmp_path, engine):
    (tmp_path / "log.csv").write_text("Page,page,PAGE,click\n1,7,a,0\n1,8,b,1\n")
    (tmp_path / "log.jsonl").write_text(
        '{"Page":1,"page":7,"PAGE":"a","click":0}\n{"Page":1,"page":8,"PAGE":"b","click":1}\n'
    )
    for name in ("log.csv", "log.jsonl"):
        for context, kinds in (("Page", {1}), ("page", {7, 8})):
            events = ws.read_events(tmp_path / name, context=context, action="PAGE", reward="click", engine=engine)
            assert set(engine.fetch_arrow(events.table)["context_0"].to_pylist()) == kinds, (name, context)


def test_numbers_of_several_widths_are_one_column(tmp_path, engine):
    for i, reward in enumerate(("0", "0.5", "1")):
        (tmp_path / f"{i}.csv").write_text(f"x,a,r\np,a,{reward}\n")
    events = ws.read_events(tmp_path, context="x", action="a", reward="r", engine=engine)
    assert ws.evaluate("logging", events, tau=0.1, estimators=["ips"])["logging"].value == pytest.approx(0.5)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_files_of_different_types_are_refused_before_reading(tmp_path, ending, engine):
    for i, page in enumerate((1, "one")):
        row = {"x": page, "a": "a", "r": 1}
        text = json.dumps(row) if ending == "jsonl" else ",".join(row) + "\n" + ",".join(map(str, row.values()))
        (tmp_path / f"{i}.{ending}").write_text(text + "\n")
    with pytest.raises(ws.SourceError, match="different schemas: 'x' is bigint and varchar"):
        ws.read_events(tmp_path, context="x", action="a", reward="r", engine=engine)


def test_parquet_files_of_different_schemas_are_refused_before_reading(log, tmp_path, engine):
    pq.write_table(log, tmp_path / "a.parquet")
    pq.write_table(log.set_column(2, "reward", log["reward"].cast(pa.float32())), tmp_path / "b.parquet")
    with pytest.raises(ws.SourceError, match="different schemas: 'reward' is double and float"):
        contents(tmp_path, engine=engine)


def test_files_of_different_formats_are_no_log(log, tmp_path):
    pq.write_table(log, tmp_path / "a.parquet")
    pa_csv.write_csv(log, tmp_path / "b.csv")
    with pytest.raises(ws.SourceError, match="different formats"):
        contents(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("ragged.csv", b"context,action,reward,time\n" + b"p,a,1,2026-01-01\n" * 30000 + b"p,a,1,2026-01-01,9,9\n"),
        ("wrong.csv", b"context,action,reward,time\n" + b"p,a,1,2026-01-01\n" * 30000 + b"p,a,often,2026-01-01\n"),
        ("empty.parquet", b""),
        ("broken.json", b'{"context": "p", "action": \n'),
        # Ibis has no room on its stack for the first, DuckDB for the second.
        ("deep.json", b'{"context": ' + b"[" * 900 + b"]" * 900 + b"}\n"),
        ("deeper.json", b'{"context": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    ],
)
def test_broken_files_are_typed_errors(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ws.DataError):
        contents(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "match", "hint"),
    [
        ("bare.csv", b"2026-01-01,p,a,1\n2026-01-02,q,b,0\n" * 9, r"no header.*2026-01-01,p,a,1", "names"),
        ("latin.csv", "page,ad,click\nMalmö,x,1\n".encode("latin-1") * 3, "not written in UTF-8", "iconv"),
        ("odd.csv", b"page,ad,click\n" + b"p,x,1\n" * 40 + b"q,x,1,1,1\n", "42 has 5 values, the header 3", "Every"),
        ("book.xlsx", b"PK", "this one is not known", "saved as CSV"),
    ],
)  # fmt: skip
def test_files_that_newcomers_have_are_refused_with_what_to_do(tmp_path, name, content, match, hint):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ws.SourceError, match=match) as refused:
        ws.read_events(tmp_path / name, context="page", action="ad", reward="click")
    assert hint in refused.value.hint


def test_a_truncated_parquet_file(log, tmp_path):
    pq.write_table(log, tmp_path / "log.parquet")
    whole = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "log.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ws.SourceError, match=r"Cannot read .*log.parquet"):
        contents(tmp_path / "log.parquet")


def test_a_folder_without_data(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ws.SourceError, match="has no Parquet, CSV or JSON files"):
        contents(tmp_path)


def test_times_with_and_without_a_zone_do_not_mix(engine):
    times = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00"]
    log = pa.table({"x": ["p", "p"], "a": ["a", "b"], "r": [1, 0], "t": times})
    with pytest.raises(ws.ColumnError, match="1 have a zone and 1 have none"):
        ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_too_little_memory_to_open_a_log_is_an_error_of_the_engine(log, tmp_path, ending):
    from warmstart.engine import connect

    (pa_csv.write_csv if ending == "csv" else pq.write_table)(log, tmp_path / f"log.{ending}")
    with pytest.raises(ws.EngineError, match="out of memory"):
        contents(tmp_path / f"log.{ending}", engine=connect(memory_limit="1KB", threads=1))


def test_too_little_memory_is_a_typed_error_and_leaves_nothing(tmp_path, monkeypatch):
    import tempfile

    from warmstart.engine import connect

    full = tmp_path / "full"
    full.write_text("a file where the folder for spilling should be")
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    rows = 400_000
    pq.write_table(
        pa.table({"x": [f"page {i}" for i in range(rows)], "a": [f"ad {i}" for i in range(rows)], "r": [0.0] * rows}),
        tmp_path / "log.parquet",
    )
    engine = connect(memory_limit="40MB", threads=1)
    events = ws.read_events(tmp_path / "log.parquet", context="x", action="a", reward="r", engine=engine)
    with pytest.raises(ws.EngineError):
        ws.evaluate("uniform", events, tau=0.1)
