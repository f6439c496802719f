"""Bytes that are not UTF-8 in arguments and names: a typed error, from the command and from the library."""

import pyarrow as pa
import pytest
from tests.support.commands import warmstart

import warmstart as ws

NAMES = {"context": "page", "action": "ad", "reward": "click"}
LOG = pa.table({"page": ["p", "q"] * 20, "ad": ["a", "b", "b", "a"] * 10, "click": [0, 1] * 20})


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "log.csv", "--policy", "constant:\udcff"),
        ("audit", "l\udcff.csv"),
        ("fit", "log.csv", "--out", "po\udcff"),
    ],
)
def test_arguments_that_are_not_utf8_are_one_line(words, tmp_path):
    done = warmstart(*words, "--context", "page", "--action", "ad", "--reward", "click", cwd=tmp_path)
    assert done.returncode == 2
    assert r"\udcff" in done.stderr
    assert "is not UTF-8. (WS301)" in done.stderr


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ws.read_events("l\udcff.csv", **NAMES),
        lambda: ws.evaluate("constant:\udcff", ws.read_events(LOG, **NAMES), tau=0.1),
        lambda: ws.export(ws.read_events(LOG, **NAMES), "o\udcff.vw", to="vw-cb", tau=0.1),
    ],
)
def test_names_that_are_not_utf8_are_typed_errors(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "l\udcff.csv").write_text("page,ad,click\np,a,1\n")
    with pytest.raises(ws.WarmstartError, match="is not UTF-8"):
        ask()
