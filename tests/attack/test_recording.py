"""Counts are recorded row by row, and what was recorded at this commit need not be counted again."""

from tests.attack.recording import keep, recorded

from benchmarks import records


def test_a_row_takes_the_place_of_an_earlier_one_and_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "commit", lambda: "old")
    keep("load", {"one process": {"evaluations": 5}, "many": {"evaluations": 3}}, record=True, folder=tmp_path)
    monkeypatch.setattr(records, "commit", lambda: "new")
    keep("load", {"many": {"evaluations": 9}}, record=True, folder=tmp_path)
    keep("load", {"many": {"evaluations": 7}}, record=False, folder=tmp_path)
    (record,) = records.read("load", tmp_path)
    assert record["rows"] == {
        "one process": {"evaluations": 5, "commit": "old"},
        "many": {"evaluations": 9, "commit": "new"},
    }
    assert recorded("load", "many", tmp_path)["evaluations"] == 9
    assert recorded("load", "one process", tmp_path) is None
