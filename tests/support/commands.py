"""The warmstart command: in this process, where another one is not the claim, and as a process of its own."""

import contextlib
import io
import subprocess
import sys
from unittest import mock

from warmstart.cli import main


def warmstart(*arguments, cwd="."):
    """Run a command in this process and return what a process would: its exit code, and what it wrote."""
    words = ["warmstart", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    here = [contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)]
    with contextlib.ExitStack() as stack:
        for context in (*here, mock.patch.object(sys, "argv", words)):
            stack.enter_context(context)
        try:
            main()
        except SystemExit as left:
            code = left.code
    return subprocess.CompletedProcess(words, code, *(part.buffer.getvalue().decode() for part in (out, err)))


def warmstart_process(*arguments, cwd=None):
    """Run a command as a process."""
    words = [sys.executable, "-m", "warmstart", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
