"""Ctrl-C, SIGTERM and SIGHUP: one line, exit code 130, nothing left of what was being written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import warmstart

COMMAND = """
import os, signal, sys
from pathlib import Path
from warmstart.cli import app, program
from warmstart.core import EngineError, write_output

def main(signals=()):
    with write_output(Path("page.html")) as temporary:
        temporary.write_text("half a page")
        {before}
        try:
            os.kill(os.getpid(), signal.{name})
        except KeyboardInterrupt:
            {after}
    sys.exit(0)

app.main = main
program()
"""


def run(folder, name="SIGINT", before="pass", after="raise"):
    code = COMMAND.format(name=name, before=before, after=after)

    def heed():
        # These tests may run where a signal is ignored, as SIGHUP is under nohup.
        signal.signal(getattr(signal, name), signal.SIG_DFL)

    ran = [sys.executable, "-c", code]
    return subprocess.run(ran, capture_output=True, text=True, cwd=folder, check=False, preexec_fn=heed)


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("SIGINT", "raise RuntimeError('Query interrupted')"),
        ("SIGTERM", "raise"),
        ("SIGHUP", "sys.exit(1)"),
    ],
)
def test_a_signal_ends_a_command_with_one_line_and_130_whatever_error_it_causes(tmp_path, name, after):
    done = run(tmp_path, name, after=after)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())


def test_a_second_signal_waits_until_what_was_written_is_removed(tmp_path):
    done = run(tmp_path, after="os.kill(os.getpid(), signal.SIGTERM); raise")
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())


def test_what_is_ignored_stays_ignored(tmp_path):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    code = COMMAND.format(name="SIGHUP", before="pass", after="raise")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False, preexec_fn=ignore
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_handler_is_set_before_anything_that_takes_long():
    """Until then Python itself ends: with a traceback."""
    code = "import sys; before = set(sys.modules); import warmstart.cli.interruption; print(*set(sys.modules) - before)"
    env = {**os.environ, "PYTHONPATH": str(Path(warmstart.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=env)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("warmstart")} == {
        *("warmstart", "warmstart.core", "warmstart.core.door", "warmstart.core.version"),
        *("warmstart.cli", "warmstart.cli.exit_codes", "warmstart.cli.interruption"),
    }
    assert not loaded & {"typing", "dataclasses", "inspect", "re", "contextlib", "pathlib"}
