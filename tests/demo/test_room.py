"""A demo's folder: what an earlier demo left is replaced by a whole new one, and nothing else is touched."""

import os
import signal
from pathlib import Path

import pytest

import warmstart as ws
from warmstart.demo import make_room


def write(out, text):
    with make_room(out, ["month", "page.html"]) as room:
        (room / "month").mkdir()
        (room / "month" / "log").write_text(text)
        (room / "page.html").write_text(text)


def fail(out, error):
    with make_room(out, ["month", "page.html"]) as room:
        (room / "month").mkdir()
        raise error


def texts(out):
    return {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}


def test_a_new_demo_replaces_an_earlier_one_and_leaves_notes(tmp_path):
    out = tmp_path / "demo"
    write(out, "old")
    (out / "notes.txt").write_text("mine")
    (out / "month" / "notes.txt").write_text("mine too")
    write(out, "new")
    mark = "month/log\npage.html\n"
    expected = {"month/log": "new", "page.html": "new", ".warmstart-demo": mark}
    expected |= {"notes.txt": "mine", "month/notes.txt": "mine too"}
    assert texts(out) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize("error", [OSError("No space left"), KeyboardInterrupt()])
def test_a_demo_that_fails_leaves_the_earlier_one(tmp_path, error):
    out = tmp_path / "demo"
    write(out, "old")
    (out / "notes.txt").write_text("mine")
    before = texts(out)
    with pytest.raises(type(error)):
        fail(out, error)
    assert texts(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_a_first_demo_that_fails_leaves_nothing(tmp_path):
    out = tmp_path / "demo"
    with pytest.raises(ws.OutputError, match=r"Cannot write the demo to '.*/demo': No space left"):
        fail(out, ws.OutputError("Cannot write month: No space left"))
    with pytest.raises(OSError, match="No space left"):
        fail(out, OSError("No space left"))
    assert not list(tmp_path.iterdir())


def test_a_demo_that_is_killed_leaves_the_earlier_one_and_the_next_removes_its_rest(tmp_path):
    out = tmp_path / "demo"
    write(out, "old")
    before = texts(out)
    child = os.fork()
    if not child:
        with make_room(out, ["month", "page.html"]) as room:
            (room / "month").mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert texts(out) == before
    write(out, "new")
    assert texts(out) == {**before, "month/log": "new", "page.html": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize("last", range(1, 5))
def test_a_demo_that_is_killed_while_files_move_leaves_each_old_or_new_and_known(tmp_path, monkeypatch, last):
    out, moved, move = tmp_path / "demo", [], Path.replace

    def killed_after(path, target):
        if len(moved) == last:
            raise KeyboardInterrupt
        moved.append(target)
        return move(path, target)

    write(out, "old")
    (out / ".warmstart-demo").write_text("month/log\nmonth/gone\npage.html\n")
    (out / "month" / "gone").write_text("old")
    monkeypatch.setattr(Path, "replace", killed_after)
    if last < 4:
        with pytest.raises(KeyboardInterrupt):
            write(out, "new")
    monkeypatch.undo()
    assert {texts(out)[name] for name in ("month/log", "page.html")} <= {"old", "new"}
    write(out, "newer")
    expected = {"month/log": "newer", "page.html": "newer", ".warmstart-demo": "month/log\npage.html\n"}
    assert texts(out) == expected


def test_folders_that_an_earlier_version_listed_are_replaced_whole(tmp_path):
    write(tmp_path / "demo", "old")
    (tmp_path / "demo" / ".warmstart-demo").write_text("month\npage.html\n")
    (tmp_path / "demo" / "month" / "parts").mkdir()
    (tmp_path / "demo" / "month" / "parts" / "more").write_text("old")
    write(tmp_path / "demo", "new")
    assert texts(tmp_path / "demo").keys() == {"month/log", "page.html", ".warmstart-demo"}
    assert not (tmp_path / "demo" / "month" / "parts").exists()


def test_nothing_is_written_through_a_link_or_onto_a_file_that_no_demo_wrote(tmp_path):
    out = tmp_path / "demo"
    write(out, "old")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "log").write_text("mine")
    (out / "month" / "log").unlink()
    (out / "month").rmdir()
    (out / "month").symlink_to(tmp_path / "outside")
    with pytest.raises(ws.UsageError, match="no demo wrote it"):
        write(out, "new")
    assert (tmp_path / "outside" / "log").read_text() == "mine"


def test_a_file_that_appears_while_the_demo_runs_is_not_replaced(tmp_path):
    def write_beside():
        with make_room(tmp_path / "demo", ["page.html"]) as room:
            (room / "page.html").write_text("new")
            (tmp_path / "demo").mkdir()
            (tmp_path / "demo" / "page.html").write_text("mine")

    with pytest.raises(ws.UsageError, match="no demo wrote it"):
        write_beside()
    assert texts(tmp_path / "demo") == {"page.html": "mine"}


def test_files_with_a_demos_names_that_no_demo_wrote_are_refused(tmp_path):
    write(tmp_path, "old")
    (tmp_path / "policies").write_text("mine")
    with pytest.raises(ws.UsageError, match="no demo wrote it"), make_room(tmp_path, ["month", "policies"]):
        pass
    assert (tmp_path / "policies").read_text() == "mine"


def test_a_mark_that_names_other_places_moves_nothing(tmp_path):
    (tmp_path / "outside").write_text("mine")
    out = tmp_path / "demo"
    out.mkdir()
    (out / ".warmstart-demo").write_text("../outside\n/etc/hosts\n.\n..\n")
    write(out, "new")
    assert (tmp_path / "outside").read_text() == "mine"
