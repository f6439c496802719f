"""warmstart simulate: the files, the words for them, and wrong numbers."""

import sys

import pyarrow.parquet as pq
import pytest

from warmstart.cli import main

SMALL = ["--events", "5000", "--n-contexts", "200", "--n-actions", "120", "--days", "5"]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["warmstart", "simulate", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


def test_a_month_is_written_and_the_next_command_is_named(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path / "month", *SMALL) == 0
    shown = capsys.readouterr().out
    assert "5,000 events, 200 pages and 120 ads" in shown
    assert "warmstart audit" in shown
    assert pq.read_metadata(tmp_path / "month" / "events.parquet").num_rows == 5000
    command = shown.split("Next: ")[1].split()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert "VERDICT" in capsys.readouterr().out
    assert (tmp_path / "audit.html").is_file()


def test_a_wrong_number_is_a_wrong_command(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path / "month", *SMALL, "--drift", "2") == 2
    assert "drift must be a number from 0 to 1" in capsys.readouterr().err
    assert not (tmp_path / "month").exists()
