"""A small table of text: aligned in a terminal, escaped in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a header; the first ``left`` columns align left, the others right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 0

    def text(self) -> str:
        """Lay the table out in plain text.

        >>> print(TextTable("Fruit", ("name", "n"), [("fig", "12")], left=1).text())
        Fruit
        name   n
        ----  --
        fig   12
        """
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        rule = ["-" * width for width in widths]
        return "\n".join([self.title, *(self._line(line, widths) for line in (self.header, rule, *self.rows))])

    def html(self) -> str:
        """Return the table as HTML, everything in it escaped."""
        head = "".join(self._cell("th", cell, i) for i, cell in enumerate(self.header))
        body = "".join(
            f"<tr>{''.join(self._cell('td', cell, i) for i, cell in enumerate(row))}</tr>" for row in self.rows
        )
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(width) if i < self.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    def _cell(self, tag: str, text: str, column: int) -> str:
        side = "left" if column < self.left else "right"
        return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
