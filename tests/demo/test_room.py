"""A demo's folder: what an earlier demo left is replaced by a whole new one, and nothing else is touched."""

import pytest

import warmstart as ws
from warmstart.demo import make_room


def write(out, text):
    with make_room(out, ["month", "page.html"]):
        (out / "month").mkdir()
        (out / "month" / "log").write_text(text)
        (out / "page.html").write_text(text)


def fail(out, error):
    with make_room(out, ["month", "page.html"]):
        (out / "month").mkdir()
        raise error


def texts(out):
    return {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}


def test_a_new_demo_replaces_an_earlier_one_and_leaves_notes(tmp_path):
    out = tmp_path / "demo"
    write(out, "old")
    (out / "notes.txt").write_text("mine")
    write(out, "new")
    mark = "month\npage.html\n"
    expected = {"month/log": "new", "page.html": "new", "notes.txt": "mine", ".warmstart-demo": mark}
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
    with pytest.raises(OSError, match="No space left"):
        fail(out, OSError("No space left"))
    assert not texts(out)


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
