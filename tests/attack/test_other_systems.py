"""What macOS and Windows lack is not needed: modules, signals, places of Linux, line ends, renames onto folders."""

import ast
import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.source_rules import parsed

import warmstart as ws
from warmstart.core import files

UNIX_ONLY = {"resource", "fcntl", "pwd", "grp", "termios", "syslog"}
# Modules and functions of Unix are gone, text is written as on Windows, and /proc and /sys are not there.
ELSEWHERE = """
    import builtins, io, os, pathlib, signal, sys

    for name in ("resource", "fcntl", "pwd", "grp", "termios", "syslog"):
        sys.modules[name] = None
    del signal.SIGHUP
    for name in ("getuid", "geteuid", "sched_getaffinity"):
        delattr(os, name)
    plain = io.open

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **others):
        if str(file).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(file)
        if newline is None and "b" not in mode and "r" not in mode:
            newline = "\\r\\n"
        return plain(file, mode, buffering, encoding, errors, newline, **others)

    builtins.open = io.open = opened
"""
EVERY_MODULE = """
    import importlib, pkgutil, warmstart

    for module in pkgutil.walk_packages(warmstart.__path__, "warmstart."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
COMMANDS = """
    from warmstart.cli import main

    log = ["log.parquet", "--context", "page", "--action", "ad", "--reward", "click"]

    def run(*words):
        sys.argv[1:] = words
        try:
            main()
        except SystemExit as end:
            assert not end.code, (words, end.code)

    run("init", "log.parquet", "--yes", "--out", "settings.toml")
    run("init", "log.parquet", "--yes", "--out", "settings.toml")
    run("evaluate", *log, "--policy", "uniform", "--html", "page.html")
    run("evaluate", *log, "--policy", "uniform", "--html", "page.html")
    run("fit", *log, "--out", "policy")
    run("choose", "policy", "--contexts", "log.parquet", "--out", "chosen.parquet")
    run("export", *log, "--to", "vw-cb", "--tau", "0.1", "--out", "train.vw")
    run("export", *log, "--to", "vw-cb", "--tau", "0.1", "--out", "train.vw")
"""


def run_elsewhere(program, folder):
    text = textwrap.dedent(ELSEWHERE) + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)


def test_no_module_is_imported_that_only_unix_has():
    top = [
        (path, node.lineno)
        for path, tree in parsed(Path(ws.__file__).parent)
        for node in tree.body
        if isinstance(node, ast.Import) and UNIX_ONLY & {alias.name for alias in node.names}
    ]
    assert not top


@pytest.mark.slow
@pytest.mark.parametrize("program", [EVERY_MODULE, COMMANDS])
def test_nothing_of_linux_is_needed(program, tmp_path):
    log = {"page": ["p", "q"] * 100, "ad": ["a", "a", "b", "b"] * 50, "click": [1, 0, 0, 1] * 50}
    pq.write_table(pa.table(log), tmp_path / "log.parquet")
    found = run_elsewhere(program, tmp_path)
    assert found.returncode == 0, found.stderr


def test_line_ends_do_not_make_settings_somebody_elses(tmp_path, monkeypatch):
    plain = io.open

    def as_on_windows(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None):
        newline = "\r\n" if newline is None and "w" in mode and "b" not in mode else newline
        return plain(file, mode, buffering, encoding, errors, newline)

    log = pa.table({"page": ["p", "q"] * 50, "ad": ["a", "b", "b", "a"] * 25, "click": [0, 1] * 50})
    pq.write_table(log, tmp_path / "log.parquet")
    proposal = ws.init(str(tmp_path / "log.parquet"))
    monkeypatch.setattr(io, "open", as_on_windows)
    (tmp_path / "lines").write_text("1\n")
    proposal.save(tmp_path / "settings.toml")
    monkeypatch.undo()
    assert (tmp_path / "lines").read_bytes() == b"1\r\n"
    assert files.mark_of(tmp_path / "settings.toml") == "settings"


def test_where_folders_are_not_replaced_an_empty_one_makes_room(tmp_path, monkeypatch):
    plain = Path.replace

    def as_on_windows(self, target):
        if Path(target).is_dir():
            raise FileExistsError(17, "the folder exists", str(target))
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", as_on_windows)
    (tmp_path / "new").mkdir()
    with pytest.raises(ws.OutputError), files.write_output(tmp_path / "new", folder=True):
        pass
    monkeypatch.setattr(files, "REPLACES_FOLDERS", False)
    with files.write_output(tmp_path / "new", folder=True) as part:
        (part / "file").write_text("x")
    assert (tmp_path / "new" / "file").read_text() == "x"
