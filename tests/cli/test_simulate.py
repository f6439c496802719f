"""warmstart simulate: the files, the words for them, and wrong numbers."""

import sys

import pyarrow.parquet as pq
import pytest

import warmstart as ws
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


def test_users_are_named_and_the_next_command_has_their_unit(tmp_path, monkeypatch, capsys):
    options = [
        "--users",
        "--visits",
        10,
        "--frailty",
        0.25,
        "--sticky",
        "both",
        "--heavy-users",
        2,
        "--heavy-rate",
        0.5,
    ]
    assert run(monkeypatch, tmp_path / "month", *SMALL, *options) == 0
    assert "--unit user" in capsys.readouterr().out
    users = pq.read_table(tmp_path / "month" / "events.parquet")["user"].to_numpy()
    assert sorted(set(users.tolist())) == list(range(2 + 420))
    assert (users < 2).sum() == 800


def test_options_of_users_need_users(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path / "month", *SMALL, "--heavy-users", "3") == 2
    assert "--heavy-users describes users" in capsys.readouterr().err
    assert run(monkeypatch, tmp_path / "month", *SMALL, "--users", "--sticky", "page") == 2
    assert "sticky must be one of nothing, action, both" in capsys.readouterr().err
    assert not (tmp_path / "month").exists()


def test_a_learner_learns_and_its_options_need_it(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path / "month", *SMALL, "--learner", "greedy", "--updates-per-day", "2") == 0
    learner = ws.AdWorld.open(tmp_path / "month").settings.learner
    assert learner == ws.LearnerSettings(kind="greedy", updates_per_day=2)
    assert run(monkeypatch, tmp_path / "weekly", *SMALL, "--updates-per-day", "0.143") == 2
    assert "--updates-per-day describes a learner" in capsys.readouterr().err
    assert run(monkeypatch, tmp_path / "weekly", *SMALL, "--learner", "ucb") == 2
    assert "must be one of thompson, epsilon-greedy, greedy, nightly" in capsys.readouterr().err
    assert not (tmp_path / "weekly").exists()
