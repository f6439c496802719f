"""Ctrl-C, SIGTERM and SIGHUP end the program in one way: what it was writing is removed, one line, exit code 130."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time

from warmstart.cli.exit_codes import INTERRUPTED

# As in core/door.py: until the handler is set, an interruption is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
# So long, in seconds, further signals wait for temporary files to be removed.
CLEANING = 5.0


def program() -> NoReturn:
    """Run the command line as a process of its own.

    A signal raises KeyboardInterrupt in the main thread. Engines and imports turn that into errors of their own, so
    that after a signal every end is an interruption.
    """
    received: list[float] = []

    def stop(*_: Any) -> None:
        now = time.monotonic()
        if not received or now - received[-1] > CLEANING:
            received.append(now)
            raise KeyboardInterrupt

    _handle(stop)
    try:
        from warmstart.cli.app import main

        main(received)
    except BaseException as error:
        interrupted = bool(received) or (isinstance(error, SystemExit) and error.code == INTERRUPTED)
        _handle(signal.SIG_IGN)
        if not interrupted:
            raise
    _leave()


def _handle(handler: Any) -> None:
    """Set the handler of signals that this system has and that are not ignored (as nohup does)."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _leave() -> NoReturn:
    """Exit with 130. Python itself would sometimes end by the signal, or crash where an import was interrupted."""
    from contextlib import suppress

    with suppress(Exception):
        sys.stderr.write("interrupted\n")
    with suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(INTERRUPTED)
