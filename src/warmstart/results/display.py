"""How every result shows itself: in a terminal, in a notebook, as a dictionary, JSON, Arrow or pandas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from html import escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    import pyarrow as pa

# Version of the JSON contract: fields are added, never renamed, while it stays.
SCHEMA = 1
# A number that may be infinite, which is null in JSON.
Unbounded = Annotated[float, "null where infinite"]
# Columns that hold text even where every row lacks it; other columns without a value hold numbers.
TEXT_COLUMNS = ("policy", "best_estimator", "verdict", "evidence", "guards")
CAPTION = "text-align: left; font-weight: bold; white-space: nowrap"


@dataclass(frozen=True)
class Fact:
    """One thing to know at first sight: what it is about, and a sentence or two."""

    label: str
    text: str


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
        lines = [self.title]
        for cells in (self.header, ["-" * width for width in widths], *self.rows):
            padded = [f"{cell:{'<' if i < self.left else '>'}{widths[i]}}" for i, cell in enumerate(cells)]
            lines.append("  ".join(padded).rstrip())
        return "\n".join(lines)

    def fitted(self, width: int) -> str:
        """Lay the table out for a screen so wide: columns that do not fit go below, their row's names repeated.

        >>> print(TextTable("Fruit", ("name", "weight", "price"), [("fig", "12", "3")], left=1).fitted(14))
        Fruit
        name  weight
        ----  ------
        fig       12
        <BLANKLINE>
        name  price
        ----  -----
        fig       3
        """
        widths = self._widths()
        names = list(range(self.header.index("tau") + 1 if "tau" in self.header[:3] else max(self.left, 1)))
        blocks, groups = [list(names)], list[list[int]]()
        for i in range(len(names), len(widths)):
            if groups and self.header[i].startswith("interval"):  # stays with its number
                groups[-1].append(i)
            else:
                groups.append([i])
        for group in groups:
            if sum(widths[i] + 2 for i in (*blocks[-1], *group)) - 2 > width and blocks[-1] != names:
                blocks.append(list(names))
            blocks[-1] += group
        if any(sum(widths[i] + 2 for i in block) - 2 > width for block in blocks):
            return self.records()
        parts = [replace(self, header=_some(self.header, b), rows=[_some(row, b) for row in self.rows]) for b in blocks]
        return "\n\n".join([parts[0].text(), *(part.text().removeprefix(f"{self.title}\n") for part in parts[1:])])

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
        head, body = self._html_row("th", self.header), "".join(self._html_row("td", row) for row in self.rows)
        caption = f'<caption style="{CAPTION}">{escape(self.title)}</caption>'
        table = f"<thead>{head}</thead><tbody>{body}</tbody>"
        return f'<table style="margin-bottom: 1em">{caption}{table}</table>'

    @property
    def width(self) -> int:
        """Return how many characters a line of the table takes, without its title."""
        return sum(self._widths()) + 2 * (len(self.header) - 1)

    def _widths(self) -> list[int]:
        return [max(len(line[i]) for line in (self.header, *self.rows)) for i in range(len(self.header))]

    def _html_row(self, tag: str, cells: Sequence[str]) -> str:
        row = ""
        for i, cell in enumerate(cells):
            style = f"text-align: {'left' if i < self.left else 'right'}; padding: 0.1em 0.6em"
            row += f'<{tag} style="{style}">{escape(cell)}</{tag}>'
        return f"<tr>{row}</tr>"


def _some(cells: Sequence[str], places: Sequence[int]) -> list[str]:
    return [cells[i] for i in places]


class Result:
    """A dataclass with ``tables`` or ``notes`` that prints, shows in a notebook and converts to other formats."""

    @property
    def tables(self) -> list[TextTable]:
        """Return the tables that people look at."""
        return []

    @property
    def headline(self) -> list[str]:
        """Return what to read first: the verdict and its reason."""
        return []

    @property
    def notes(self) -> list[str]:
        """Return in plain words what the numbers are and what they rest on."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it; non-finite numbers are None."""
        return {**self._head(), **fields_of(self)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow table."""
        import pyarrow as pa

        rows = plain(self._rows())
        table = pa.table({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
        for place, field in enumerate(table.schema):
            if pa.types.is_null(field.type):
                kind = pa.string() if field.name in TEXT_COLUMNS else pa.float64()
                table = table.set_column(place, field.name, table[field.name].cast(kind))
        return table

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a polars frame."""
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    def plot(self, what: str | None = None) -> Any:
        """Return an Altair chart of the result's page, interactive in a notebook; ``.save("gain.png")`` writes it.

        Args:
            what: Which one: of an evaluation "gain" (the default), "waterfall", "value", "support", "tau", "doubt",
                "outcomes", "tradeoff", "segments" or "epochs", as far as it has them. A wrong word lists those of the
                result.
        """
        from importlib import import_module

        # The room of pages lies above this one.
        return import_module("warmstart.report").plot(self, what)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the result to a file, whole or not at all: a page, or JSON that ``load_result`` reads, or its rows.

        Args:
            path: The file, whose name ends in .html, .json or .parquet. A result that was saved there is replaced.
            force: Replace any other file too, but never one that the result was made from.
        """
        from warmstart.results.saving import save_result

        return save_result(self, path, force=force)

    @classmethod
    def kind(cls) -> str:
        """Return what JSON calls this kind of result, such as ``evaluation``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def _head(self) -> dict[str, Any]:
        """Return how JSON begins: by the version of its schema, and the kind of result."""
        return {"schema": SCHEMA, "kind": self.kind()}

    def _rows(self) -> list[dict[str, Any]]:
        """Return flat rows for a data frame; by default one per number, named by its path in ``to_dict``."""
        return [{"name": name, "value": value} for name, value in _numbers(self.to_dict()) if name != "schema"]

    def __str__(self) -> str:
        texts = ["\n".join(self.headline), *(table.text() for table in self.tables), "\n".join(self.notes)]
        return "\n\n".join(text for text in texts if text)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        first, *reasons = self.headline or [""]
        parts = [f"<p><strong>{escape(first)}</strong></p>"] if first else []
        parts += [f"<p>{escape(text)}</p>" for text in reasons]
        parts += [*(table.html() for table in self.tables), *(f"<p>{escape(note)}</p>" for note in self.notes)]
        return "".join(parts)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: dataclasses as dictionaries, non-finite numbers as None, the rest as text.

    >>> plain({"ends": (0.5, float("inf"))})
    {'ends': [0.5, None]}
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return fields_of(value) if is_dataclass(value) else str(value)


def fields_of(record: Any) -> dict[str, Any]:
    """Return a dataclass as a dictionary that JSON can hold."""
    return {field.name: plain(getattr(record, field.name)) for field in fields(record)}


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float):
        yield path, float(value)
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _numbers(part, f"{path}.{key}" if path else str(key))
