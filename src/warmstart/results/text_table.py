"""A small table of text: aligned in a terminal, escaped in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

CAPTION = "text-align: left; font-weight: bold; white-space: nowrap"


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
        widths = self._widths()
        rule = ["-" * width for width in widths]
        return "\n".join([self.title, *(self._line(line, widths) for line in (self.header, rule, *self.rows))])

    @property
    def width(self) -> int:
        """Return how many characters wide the laid-out table is."""
        return sum(self._widths()) + 2 * (len(self.header) - 1)

    def records(self) -> str:
        """Lay each row out below the other, for a screen too narrow for the table.

        >>> print(TextTable("Fruit", ("name", "n"), [("fig", "12")], left=1).records())
        Fruit
        - name: fig
          n: 12
        """
        lines = [self.title]
        for row in self.rows:
            pairs = [f"{name}: {cell}" for name, cell in zip(self.header, row, strict=True)]
            lines += [f"- {pairs[0]}", *(f"  {pair}" for pair in pairs[1:])]
        return "\n".join(lines)

    def html(self) -> str:
        """Return the table as HTML, everything in it escaped."""
        head = "".join(self._cell("th", cell, i) for i, cell in enumerate(self.header))
        body = "".join(
            f"<tr>{''.join(self._cell('td', cell, i) for i, cell in enumerate(row))}</tr>" for row in self.rows
        )
        caption = f'<caption style="{CAPTION}">{escape(self.title)}</caption>'
        table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        return f'<table style="margin-bottom: 1em">{caption}{table}</table>'

    def _widths(self) -> list[int]:
        return [max(len(line[i]) for line in (self.header, *self.rows)) for i in range(len(self.header))]

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(width) if i < self.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    def _cell(self, tag: str, text: str, column: int) -> str:
        side = "left" if column < self.left else "right"
        return f'<{tag} style="text-align: {side}; padding: 0.1em 0.6em">{escape(text)}</{tag}>'
