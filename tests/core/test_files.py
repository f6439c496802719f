"""Outputs: whole or absent, never onto an input, never over what this tool did not write."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart_process

import warmstart as ws
from warmstart.core.files import check_output, mark_of, write_output, write_parquet, write_table
from warmstart.engine import StoredTable

TABLE = pa.table({"x": [1, 2]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "log" / "sub").mkdir(parents=True)
    for name in ("log.parquet", "log/1.parquet", "log/sub/2.parquet"):
        write_parquet(tmp_path / name, [TABLE])
    (tmp_path / "symbolic.parquet").symlink_to("log.parquet")
    os.link(tmp_path / "log.parquet", tmp_path / "hard.parquet")
    os.link(tmp_path / "log" / "1.parquet", tmp_path / "hard-1.parquet")
    (tmp_path / "linked").symlink_to("log")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SAME_FILE = [
    "log.parquet",
    "./log.parquet",
    "log/../log.parquet",
    "symbolic.parquet",
    "hard.parquet",
    "linked/../log.parquet",
]


@pytest.mark.parametrize("out", [*SAME_FILE, "{folder}/log.parquet", "{folder}/log/sub/../../log.parquet"])
@pytest.mark.parametrize("source", ["log.parquet", "symbolic.parquet", "{folder}/log.parquet", "./log/../hard.parquet"])
def test_an_input_is_never_written_by_whatever_path(folder, out, source):
    for given in (source.format(folder=folder), [source.format(folder=folder)], StoredTable(None, path=source)):
        sources = [given] if "{" not in source or not isinstance(given, StoredTable) else [source.format(folder=folder)]
        with pytest.raises(ws.UsageError, match="is an input"):
            check_output(out.format(folder=folder), inputs=sources, force=True)


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("log/1.parquet", "log"),
        ("log/new.csv", "log"),
        ("log/sub/new.parquet", "linked"),
        ("linked/new.parquet", "log/"),
        ("hard-1.parquet", "log"),
        ("log/1.parquet", "log/*.parquet"),
        ("log/new.parquet", "log/*.parquet"),
        ("linked/new.parquet", "./log/*.parquet"),
        ("log/new.parquet", "linked/*.parquet"),
        ("hard-1.parquet", "log/*.parquet"),
        ("log/new.parquet", "log/**/*.parquet"),
        ("log/a/b/new.parquet", "log/**/*.parquet"),
        ("log/sub/9.parquet", "log/s?b/[0-9].parquet"),
        ("log/new.parquet", "file:{folder}/log"),
        ("log/new.parquet", "file://{folder}/log/*.parquet"),
    ],
)
def test_nothing_is_written_into_an_input_folder_or_glob(folder, out, source):
    (folder / out).parent.mkdir(parents=True, exist_ok=True)
    with pytest.raises(ws.UsageError, match="lies in the input"):
        check_output(out, inputs=[[source.format(folder=folder)]], force=True)


@pytest.mark.parametrize(
    "url", ["file:{folder}/", "file://{folder}/", "FILE://{folder}/./", "sqlite://{folder}/", "sqlite://"]
)
def test_an_input_named_by_a_url_is_never_written(folder, url):
    source = f"{url.format(folder=folder)}log.parquet"
    for given in (source, [source], Path(source), StoredTable("shown", url=source)):
        for out in SAME_FILE:
            with pytest.raises(ws.UsageError, match="is an input"):
                check_output(out, inputs=[given], force=True)


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("new.parquet", "log"),
        ("logs.parquet", "log"),
        ("log/new.html", "log/*.parquet"),
        ("log/sub/new.parquet", "log/*.parquet"),
        ("new.parquet", "s3://bucket/*.parquet"),
        ("new.parquet", "absent.parquet"),
        ("new.parquet", ""),
        ("new.parquet", None),
        ("new.parquet", TABLE),
    ],
)
def test_an_output_beside_the_inputs_is_written(folder, out, source):
    with write_output(out, inputs=[source]) as temporary:
        temporary.write_text("done")
    assert (folder / out).read_text() == "done"


def test_a_file_of_others_is_replaced_with_force_only(tmp_path):
    for name, text in {
        "a.csv": "x\n1\n",
        "a.html": "<!doctype html><title>mine</title>",
        "a.parquet": "PAR1 no",
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ws.UsageError, match="did not write it") as refused, write_output(tmp_path / name):
            pass
        assert "--force" in refused.value.hint
        assert (tmp_path / name).read_text() == text
        with write_output(tmp_path / name, force=True) as temporary:
            temporary.write_text("ours")
        assert (tmp_path / name).read_text() == "ours"
    pq.write_table(TABLE, tmp_path / "b.parquet")
    with pytest.raises(ws.UsageError, match="did not write it"):
        write_table(tmp_path / "b.parquet", TABLE)


def test_what_this_tool_wrote_is_replaced_and_so_is_an_empty_file(tmp_path):
    out = tmp_path / "a.parquet"
    out.touch()
    for rows in (TABLE, TABLE.slice(1)):
        write_table(out, rows)
        assert pq.read_table(out)["x"].to_pylist() == rows["x"].to_pylist()
    assert mark_of(out) == ws.__version__
    assert mark_of(tmp_path / "absent") is None


def test_a_table_keeps_its_own_metadata_and_csv_is_text(tmp_path):
    write_table(tmp_path / "a.parquet", TABLE.replace_schema_metadata({"of": "mine"}))
    assert pq.read_schema(tmp_path / "a.parquet").metadata[b"of"] == b"mine"
    write_table(tmp_path / "a.csv", TABLE)
    assert (tmp_path / "a.csv").read_text() == '"x"\n1\n2\n'


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    write_table(tmp_path / "a.parquet", TABLE)

    def interrupted(out, part, **options):
        with write_output(out, **options) as temporary:
            (temporary / part).write_text("half")
            raise KeyboardInterrupt

    for out, part, options in ((tmp_path / "a.parquet", "", {}), (tmp_path / "new", "part", {"folder": True})):
        with pytest.raises(KeyboardInterrupt):
            interrupted(out, part, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    assert pq.read_table(tmp_path / "a.parquet").equals(TABLE)


def test_places_that_are_no_file_or_no_new_folder_are_refused(tmp_path):
    with pytest.raises(ws.UsageError, match="is not a file"):
        check_output(tmp_path, force=True)
    with pytest.raises(ws.UsageError, match="is not a file"):
        check_output("/dev/null", force=True)
    with pytest.raises(ws.UsageError, match="There is no folder"):
        check_output(tmp_path / "gone" / "a.html")
    (tmp_path / "policy").mkdir()
    check_output(tmp_path / "policy", folder=True)
    (tmp_path / "policy" / "mine").touch()
    for out in (tmp_path / "policy", tmp_path / "policy" / "mine"):
        with pytest.raises(ws.UsageError, match="already there"):
            check_output(out, folder=True)
    with pytest.raises(ws.UsageError, match="lies in the input"):
        check_output(tmp_path / "policy" / "new", inputs=[tmp_path / "policy"], folder=True)


@pytest.mark.parametrize("text", ["=1+1", "@sum(a)", "+cmd|'/c'", "-2+3", "\t=1", "-", "+a"])
def test_text_that_a_spreadsheet_would_run_is_written_as_it_is_and_said(tmp_path, text):
    table = pa.table({"ad": ["plain", text], "page": ["-1.5", "+3e-2"], "n": [-1, 2]})
    with pytest.warns(ws.WarmstartWarning, match=r"values of 'ad' as formulas.*WS403"):
        write_table(tmp_path / "out.csv", table)
    assert pa_csv.read_csv(tmp_path / "out.csv")["ad"].to_pylist() == ["plain", text]
    write_table(tmp_path / "out.parquet", table)


def test_the_command_line_says_so_too(tmp_path):
    log = pa.table({"page": ["p"] * 40, "ad": ["=a", "b"] * 20, "click": [0, 1] * 20})
    pq.write_table(log, tmp_path / "log.parquet")
    columns = ("--context", "page", "--action", "ad", "--reward", "click")
    options = ("--policy", "uniform", "--estimator", "ips", "--supported-out", "rows.csv")
    ran = warmstart_process("evaluate", "log.parquet", *columns, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "note: Spreadsheets would run values of 'ad' as formulas" in ran.stderr
