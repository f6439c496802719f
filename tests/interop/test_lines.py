"""Lines of files: gzipped, torn, malformed."""

import gzip

import pyarrow.parquet as pq
import pytest
from tests.support.vw import import_text

import warmstart as ws


def test_gzipped_files_and_several_files_read_alike(tmp_path):
    plain, packed = tmp_path / "a.vw", tmp_path / "b.vw.gz"
    plain.write_text("1:0 | a\n")
    packed.write_bytes(gzip.compress(b"2:-1 | a\r\n"))
    result = ws.import_vw([plain, packed], tmp_path / "out")
    rows = pq.read_table(result.events).to_pylist()
    assert [(row["action"], row["reward"]) for row in rows] == [("1", 0.0), ("2", 1.0)]
    assert rows[0]["context"] == rows[1]["context"]


def test_a_torn_gzip_file_is_an_error_and_leaves_nothing(tmp_path):
    path = tmp_path / "a.vw.gz"
    path.write_bytes(gzip.compress(b"2:-1 | a\n" * 10_000)[:-20])
    with pytest.raises(ws.SourceError):
        ws.import_vw(path, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.vw.gz"]


def test_malformed_lines_can_be_counted_instead(tmp_path):
    result, rows = import_text(tmp_path, "1:0 | a\nrubbish\n2:-1 | a\n1:0:9 | a\n", skip_malformed=True)
    assert len(rows) == 2
    assert result.about["malformed"]["lines"] == 2
    assert "line 2" in result.about["malformed"]["first"][0]
    assert any("2 malformed lines" in note for note in result.notes)


def test_a_terminal_cannot_be_talked_to_through_a_log(tmp_path):
    with pytest.raises(ws.MalformedLineError) as caught:
        import_text(tmp_path, "1:0 | a\n\x1b[31m:0 | a\n")
    assert "\x1b" not in caught.value.message
