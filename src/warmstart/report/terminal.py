"""Results on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from warmstart.results import TextTable

IMPORTANT = ("VERDICT", "ALARM", "CONCLUSION", "WARNING", "SELECTED", "CHECK")


def show(tables: Iterable[TextTable], notes: Iterable[str], headline: Sequence[str] = ()) -> None:
    """Print what to read first, tables, then notes: plain in a file or a pipe; on a terminal never with a number cut.

    Args:
        tables: What people look at.
        notes: What the numbers are and what they rest on.
        headline: The verdict and its reason.
    """
    console = Console()
    if not console.is_terminal:
        texts = ["\n".join(headline), *(table.text() for table in tables), "\n".join(notes)]
        console.file.write("\n\n".join(text for text in texts if text) + "\n")
        return
    for place, text in enumerate(headline):
        console.print(Text(text, style="bold" if place == 0 or text.startswith(IMPORTANT) else ""))
    if headline:
        console.print()
    for table in tables:
        title, *lines = table.fitted(console.width).split("\n")
        console.print(Text(title, style="bold"))
        console.print(Text("\n".join(lines)), end="\n\n")
    for note in notes:
        console.print(Text(note, style="bold" if note.startswith(IMPORTANT) else "dim"))
