"""A progress display that appears only on a terminal, and only when the work takes long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from warmstart.core import shortened

if TYPE_CHECKING:
    from warmstart.engine import Engine

PATIENCE_SECONDS = 1.0


class ProgressDisplay:
    """Show the current step, the share of it that is done and a detail; the share is the engine's where none is given.

    An instance is itself the callback: pass it as ``on_progress``.
    """

    def __init__(self, engine: Engine | None = None, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._engine = engine
        self._now: tuple[str, float | None, str] = ("reading and checking", None, "")
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, step: str, share: float | None = None, detail: str = "") -> None:
        """Note what is being done now."""
        self._now = (shortened(step), share, shortened(detail))

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody else, such as a question."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        if self._console.is_terminal:
            self._done.clear()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def _stop(self) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        if self._done.wait(PATIENCE_SECONDS):
            return
        with self._bars() as progress:
            shown, task = "", progress.add_task("", total=None, detail="")
            while True:
                step, share, detail = self._now
                if step != shown:  # a task whose share was known cannot forget it
                    progress.remove_task(task)
                    shown, task = step, progress.add_task(step, total=None, detail="")
                if share is None and self._engine is not None:
                    percent = self._engine.progress()
                    share = percent / 100 if percent else None
                progress.update(task, total=None if share is None else 1.0, completed=share or 0.0, detail=detail)
                if self._done.wait(0.1):
                    return

    def _bars(self) -> Progress:
        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
            console=self._console,
            transient=True,
        )
