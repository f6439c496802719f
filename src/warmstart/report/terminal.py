"""Results on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from warmstart.results import TextTable

IMPORTANT = ("VERDICT", "CONCLUSION", "WARNING", "SELECTED")


def show(tables: Iterable[TextTable], notes: Iterable[str]) -> None:
    """Print tables, then notes: plain in a file or a pipe; on a terminal wrapped, and never with a number cut."""
    console = Console()
    if not console.is_terminal:
        console.file.write("\n\n".join([*(table.text() for table in tables), "\n".join(notes)]) + "\n")
        return
    for table in tables:
        title, *lines = (table.text() if table.width <= console.width else table.records()).split("\n")
        console.print(Text(title, style="bold"))
        console.print(Text("\n".join(lines)), end="\n\n")
    for note in notes:
        console.print(Text(note, style="bold" if note.startswith(IMPORTANT) else "dim"))
