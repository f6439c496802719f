"""Segments: parts of the traffic that differ in some context columns, each valued for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import UsageError, no_such_column, quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Events

MOST_COLUMNS, MOST_SEGMENTS = 2, 60


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of the evaluated traffic: its values of the columns, its events, and the rows that identify it."""

    name: tuple[str, ...]
    events: float
    table: ir.Table
    keys: tuple[str, ...]

    def of(self, rows: ir.Table) -> ir.Table:
        """Return those rows that lie in the segment."""
        return rows.semi_join(self.table, list(self.keys))


def check_by(by: Sequence[str], events: Events) -> None:
    """Refuse columns by which no segments can be told apart."""
    if len(by) > MOST_COLUMNS:
        raise UsageError(f"Segments are told apart by at most {MOST_COLUMNS} columns, and {len(by)} were given.")
    if len(set(by)) < len(by):
        raise UsageError("A column of segments is given twice.", "Give it once.")
    for column in by:
        if column not in events.columns.context:
            raise no_such_column(column, events.columns.context, where="the context")


def list_segments(cells: Cells, by: Sequence[str]) -> list[Segment]:
    """Return the segments of the evaluated window, the largest first.

    Args:
        cells: The cells of the window.
        by: The context columns that tell segments apart; none for no segments.
    """
    if not by:
        return []
    fixed = dict(zip(cells.columns.context, cells.columns.context_keys, strict=True))
    keys = tuple(fixed[column] for column in by)
    shown = cells.table.filter(cells.table.n > 0)
    sizes = shown.group_by(*keys).agg(events=shown.n.sum())
    number = cells.engine.fetch(sizes.agg(number=sizes.count()))[0]["number"]
    if number > MOST_SEGMENTS:
        names = " and ".join(map(quoted, by))
        raise UsageError(
            f"{names} would make {number:,} segments; {MOST_SEGMENTS} can be told apart.",
            "Group the values into fewer in a column of the log.",
        )
    found = []
    for row in cells.engine.fetch(sizes.order_by(sizes.events.desc(), *keys)):
        same = [sizes[key] == row[key] for key in keys]
        table = sizes.filter(*same).select(*keys)
        found.append(Segment(tuple(str(row[key]) for key in keys), float(row["events"]), table, keys))
    return found
