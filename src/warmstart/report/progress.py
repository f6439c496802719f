"""A progress display that appears only when the work takes long."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from warmstart.core.text import shortened

if TYPE_CHECKING:
    from rich.console import Console

    from warmstart.engine import Engine

PATIENCE_SECONDS = 1.0
POLL_SECONDS = 0.1


class Share:
    """Show the current step and the share of it that is done, on a terminal."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=1.0, note="")

    def report(self, step: str, share: float, note: str = "") -> None:
        """Say what is being done now, how much of it is done, and what there is to note."""
        self._progress.update(self._task, description=shortened(step), completed=share, note=shortened(note))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class Working:
    """Show the current step and how far the engine is, on a terminal, once the work has taken a second."""

    def __init__(self, console: Console, engine: Engine) -> None:
        self._engine = engine
        self._step = "reading and checking"
        self._done = threading.Event()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._thread = threading.Thread(target=self._watch, daemon=True) if console.is_terminal else None

    def step(self, name: str) -> None:
        """Say what is being done now."""
        self._step = shortened(name)

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        if self._done.wait(PATIENCE_SECONDS):
            return
        with self._progress as progress:
            task = progress.add_task(self._step, total=None)
            shown = self._step
            while not self._done.is_set():
                if shown != self._step:
                    shown = self._step
                    progress.update(task, description=shown, total=None, completed=0)
                percent = self._engine.progress()
                if percent:
                    progress.update(task, total=100, completed=percent)
                time.sleep(POLL_SECONDS)
