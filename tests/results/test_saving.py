"""Results on disk: a page, JSON or rows; never onto what they were made from."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.saved_results import joined, saved

import warmstart as ws

OTHERS = ["result.csv", "result", "result.json.gz", "result.htm"]


def test_the_ending_says_what_is_written(tmp_path):
    result = saved("evaluation")
    paths = [result.save(tmp_path / f"result.{ending}") for ending in ("html", "json", "parquet")]
    assert all(isinstance(path, Path) for path in paths)
    page, told, rows = paths
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(told.read_text()) == result.to_dict()
    assert pq.read_table(rows).equals(result.to_arrow())
    assert {path.name for path in tmp_path.iterdir()} == {"result.html", "result.json", "result.parquet"}


@pytest.mark.parametrize("name", OTHERS)
def test_another_ending_is_refused_with_the_three(tmp_path, name):
    with pytest.raises(ws.UsageError) as error:
        saved("evaluation").save(tmp_path / name)
    assert all(ending in str(error.value) for ending in (".html", ".json", ".parquet"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["html", "json", "parquet"])
def test_a_saved_result_is_replaced_and_any_other_file_only_with_force(tmp_path, ending):
    path = tmp_path / f"result.{ending}"
    first, second = saved("evaluation"), saved("evaluation by epoch")
    first.save(path)
    before = path.read_bytes()
    second.save(path)
    assert path.read_bytes() != before
    path.write_text('{"mine": 1}')
    with pytest.raises(ws.UsageError, match="did not write it"):
        second.save(path)
    assert path.read_text() == '{"mine": 1}'
    second.save(path, force=True)
    assert path.read_bytes() != b'{"mine": 1}'


def test_a_table_of_ours_that_is_no_result_stays(tmp_path):
    result = joined()
    log = tmp_path / "log.parquet"
    log.write_bytes(result.path.read_bytes())
    with pytest.raises(ws.UsageError, match="holds no saved result"):
        saved("evaluation").save(log)
    assert log.read_bytes() == result.path.read_bytes()


def test_never_onto_a_file_that_the_result_tells_of(tmp_path):
    result = joined()
    before = result.path.read_bytes()
    with pytest.raises(ws.UsageError, match="is an input"):
        result.save(result.path, force=True)
    assert result.path.read_bytes() == before
    log = tmp_path / "log.json"
    log.write_text("".join(json.dumps({"page": "p", "ad": ad, "click": 1}) + "\n" for ad in "abab"))
    audit = ws.audit(ws.read_events(log, context="page", action="ad", reward="click"))
    with pytest.raises(ws.UsageError, match="is an input"):
        audit.save(log, force=True)


def test_a_result_without_a_page_says_so(tmp_path):
    with pytest.raises(ws.UsageError, match="no page"):
        saved("decisions").save(tmp_path / "decisions.html")
    assert not list(tmp_path.iterdir())


def test_rows_of_an_evaluation_have_its_verdicts_and_guards(tmp_path):
    result = saved("evaluation with outcomes")
    rows = pq.read_table(result.save(tmp_path / "result.parquet")).to_pylist()
    own = rows[: len(result.policies)]
    assert [row["verdict"] for row in own] == [result.verdict_on(one).kind for one in result.policies]
    assert {row["evidence"] for row in own} <= {"certified", "estimated", "unsupported"}
    for row, one in zip(own, result.policies, strict=True):
        assert row["guards"] == "; ".join(f"{guard.guard}: {guard.status}" for guard in one.guards) != ""
    assert {row["verdict"] for row in rows[len(own) :]} == {None}
