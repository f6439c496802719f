"""Temporary files say whose they are, so that a later run removes what a killed one left, and nothing else."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from warmstart.core.files import write_output
from warmstart.core.temporaries import remove_abandoned, temporary_folder, temporary_path


def dead_process():
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    return str(ended.pid)


def of_process(path, process):
    """A temporary name of a path, as another process would have made it."""
    own = temporary_path(path)
    return own.with_name(own.name.replace(f"-{os.getpid()}-", f"-{process}-"))


def test_what_a_killed_process_left_is_removed_when_the_same_output_is_written(tmp_path):
    out, process = tmp_path / "page.html", dead_process()
    left, folder = of_process(out, process), of_process(out, process)
    left.write_text("half a page")
    folder.mkdir()
    (folder / "array.npy").write_bytes(b"half")
    with write_output(out) as temporary:
        temporary.write_text("a page")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_what_may_be_in_use_or_is_not_ours_stays(tmp_path):
    out, process = tmp_path / "page.html", dead_process()
    elsewhere = of_process(out, process)
    machine = elsewhere.name.split(".warmstart-")[1][:8]
    stays = {
        temporary_path(out),
        of_process(tmp_path / "page", process),
        elsewhere.with_name(elsewhere.name.replace(machine, "0" * 8)),
        tmp_path / ".page.html.warmstart-notes",
        tmp_path / "page.html.warmstart",
    }
    for path in stays:
        path.write_text("somebody's")
    link = of_process(out, process)
    link.symlink_to(tmp_path)
    remove_abandoned(out)
    assert set(tmp_path.iterdir()) == stays
    assert not link.is_symlink()


@pytest.mark.parametrize("name", ["é" * 127, "x" * 255])
def test_names_as_long_as_a_system_takes_are_written(tmp_path, name):
    with write_output(tmp_path / name) as temporary:
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    left = of_process(tmp_path / name, dead_process())
    left.touch()
    remove_abandoned(Path(tmp_path, name))
    assert not left.exists()


def test_a_process_that_has_ended_and_was_not_waited_for_runs_no_more(tmp_path):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    left = of_process(tmp_path / "page.html", child)
    left.write_text("half a page")
    remove_abandoned(tmp_path / "page.html")
    os.waitpid(child, 0)
    assert not left.exists()


def test_a_temporary_folder_is_removed_or_by_the_next_one_where_its_process_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = of_process(tmp_path / "features", dead_process())
    abandoned.mkdir()
    with temporary_folder("features") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder.stat().st_mode & 0o77 == 0
        (folder / "file").write_text("x")
    assert not list(tmp_path.iterdir())
