"""Questions of init on a terminal."""

import os
import pty
import select
import sys
import threading
import time

from warmstart.cli import main
from warmstart.report import progress

LOG = "Kauppa;Tarjous;tilattu\n" + "".join(f"{'UB'[i % 2]};{'xyz'[i % 3]};{i % 5 // 4}\n" for i in range(300))


def written(terminal, seconds):
    """Return what appears on a terminal until it is silent for so long, or draws without end."""
    text, until = b"", time.monotonic() + 5
    while time.monotonic() < until and select.select([terminal], [], [], seconds)[0]:
        text += os.read(terminal, 65536)
    return text.decode()


def test_nothing_is_drawn_over_a_question(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(sys, "argv", ["warmstart", "init", "log.csv", "--reward", "tilattu"])
    ours, theirs = pty.openpty()
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, os.fdopen(os.dup(theirs), "r" if name == "stdin" else "w"))
    left = []

    def run():
        try:
            main()
        except SystemExit as exit_:
            left.append(exit_.code)

    command = threading.Thread(target=run, daemon=True)
    command.start()
    until = time.monotonic() + 30
    try:
        for answer, asks in (("Tarjouss", "action"), ("Tarjous", "Did you mean 'Tarjous'")):
            shown = ""
            while "]: " not in shown and time.monotonic() < until:
                shown += written(ours, 0.05)
            assert asks in shown
            assert not written(ours, 0.3), "something was drawn over the question"
            os.write(ours, f"{answer}\n".encode())
        written(ours, 0.5)
        command.join(10)
    finally:
        os.close(ours)
    assert left == [0]
    assert 'action = "Tarjous"' in (tmp_path / "warmstart.toml").read_text()
