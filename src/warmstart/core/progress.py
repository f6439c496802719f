"""The one shape of a progress callback."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the step that begins or goes on, the share of it that is done (None: unknown), and a detail."""

    def __call__(self, step: str, share: float | None = None, detail: str = "") -> None:
        """Take note of where the work is."""
        ...


def silent(step: str, share: float | None = None, detail: str = "") -> None:
    """Report nothing."""
