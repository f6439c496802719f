"""Results on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from warmstart.core.tables import TextTable


def show(console: Console, tables: Iterable[TextTable], notes: Iterable[str]) -> None:
    """Print tables, then notes; plain text where it goes to a file or a pipe."""
    if not console.is_terminal:
        console.file.write("\n\n".join([*(table.text() for table in tables), "\n".join(notes)]) + "\n")
        return
    for table in tables:
        console.print(_rich(table), soft_wrap=False)
    for note in notes:
        console.print(Padding(Text(note, style="dim"), (0, 0, 0, 0)))


def _rich(table: TextTable) -> Table:
    rich = Table(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(table.header):
        left = i < table.left
        rich.add_column(Text(name), justify="left" if left else "right", overflow="fold", no_wrap=not left)
    for row in table.rows:
        rich.add_row(*(Text(cell) for cell in row))
    return rich
