"""Segments: parts of the traffic that differ in some context columns, each valued for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warmstart.core import ACTION, EPOCH, PROBABILITY, UsageError, quoted
from warmstart.events import NO_VALUE, open_cells, per_unit, with_context
from warmstart.policy import build_policy, described_columns, described_contexts

if TYPE_CHECKING:
    from contextlib import ExitStack

    import ibis.expr.types as ir

    from warmstart.events import Cells, Events
    from warmstart.policy import NamedPolicy, PolicyTable

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


def segment_columns(by: Sequence[str], events: Events, contexts: Any) -> list[str]:
    """Return the columns of the log, outside the context, that have to join it; refuse what are no segments."""
    if len(by) > MOST_COLUMNS:
        raise UsageError(f"Segments are told apart by at most {MOST_COLUMNS} columns, and {len(by)} were given.")
    if len(set(by)) < len(by):
        raise UsageError("A column of segments is given twice.", "Give it once.")
    own = events.columns
    for column in by:
        if column in own.known_after:
            raise UsageError(f"{quoted(column)} is known after acting only, and a segment before.", "Name another.")
    missing = [column for column in by if column not in own.context]
    if not missing or contexts is None:
        return missing
    # A database is only read: what is brought to it is opened where its sums are.
    described = missing if events.engine.remote else described_columns(events.engine, contexts)
    return [column for column in missing if column not in described]


@dataclass(frozen=True, eq=False)
class Narrow:
    """The windows with the log's own context, and those in which columns of segments have joined it.

    Keywords choose in the joined contexts; all other policies by the log's own, from cells of these.
    """

    own: tuple[Events, Events | None]
    extended: tuple[Events, Events | None]
    added: Sequence[str] = ()
    cells: Cells | None = None

    @classmethod
    def of(cls, events: Events, train: Events | None, added: Sequence[str]) -> Narrow:
        """Let columns join the context, if there are any."""
        own = events, train
        return cls(own, with_context(events, train, added) if added else own, added)

    def opened(self, resources: ExitStack, *, live: bool, per: str) -> Narrow:
        """Sum the events by the log's own context, if that is another."""
        if not self.added:
            return self
        windows = per_unit(*self.own) if per == "unit" else self.own
        return replace(self, cells=resources.enter_context(open_cells(*windows, live=live)))

    def build(self, policy: NamedPolicy, cells: Cells, **options: Any) -> PolicyTable:
        """Build a policy over the cells that it is valued on."""
        if self.cells is None or policy.keyword is not None or policy.column is not None:
            return build_policy(policy, cells, **options)
        if policy.defers:
            names = ", ".join(map(quoted, self.added))
            raise UsageError(
                f"A policy that defers is valued by segments of its own context columns, and {names} is none.",
                "Value it by columns of the context.",
            )
        if options.get("strata") is not None:
            names = ", ".join(map(quoted, self.added))
            raise UsageError(
                f"With epochs, segments are told apart by context columns, and {names} is none.",
                "Name it as context too (--context), and in the decisions.",
            )
        return in_segments(build_policy(policy, self.cells, **options), cells)


def in_segments(policy: PolicyTable, cells: Cells) -> PolicyTable:
    """Return a policy that chooses by the log's own context, in contexts that segments have joined."""
    keys = list(cells.columns.context_keys)
    own = policy.table.select(*(name for name in policy.table.columns if name in (*keys, ACTION, EPOCH, PROBABILITY)))
    table = own.join(cells.contexts.select(*keys), [key for key in keys if key in own.columns])
    return replace(policy, table=table.select(*keys, *(name for name in own.columns if name not in keys)), seated=False)


def list_segments(cells: Cells, by: Sequence[str], contexts: Any = None) -> list[Segment]:
    """Return the segments of the evaluated window, the largest first.

    Args:
        cells: The cells of the window.
        by: The columns, of the context or of a table of contexts, that tell segments apart; none for no segments.
        contexts: The table of contexts, if there is one.
    """
    if not by:
        return []
    fixed = dict(zip(cells.columns.context, cells.columns.context_keys, strict=True))
    shown, own = cells.table.filter(cells.table.n > 0), cells.columns.context_keys
    if all(column in fixed for column in by):
        keys = tuple(fixed[column] for column in by)
    else:
        described, names = described_contexts(cells, contexts)
        given = {name: fixed_name for fixed_name, name in names.items()}
        keys = tuple(given[column] for column in by)
        values = {key: described[key].cast("string").fill_null(NO_VALUE) for key in keys if key not in own}
        described = described.mutate(**values)
        shown = shown.join(described, list(own))
    sizes = shown.group_by(*keys).agg(events=shown.n.sum())
    number = cells.engine.fetch(sizes.agg(number=sizes.count()))[0]["number"]
    if number > MOST_SEGMENTS:
        listed = " and ".join(map(quoted, by))
        raise UsageError(
            f"{listed} would make {number:,} segments; {MOST_SEGMENTS} can be told apart.",
            "Group the values into fewer in a column of the log.",
        )
    results = []
    for row in cells.engine.fetch(sizes.order_by(sizes.events.desc(), *keys)):
        rows = sizes if set(keys) <= set(own) else described
        table = rows.filter(*(rows[key] == row[key] for key in keys))
        on = keys if set(keys) <= set(own) else own
        results.append(Segment(tuple(str(row[key]) for key in keys), float(row["events"]), table.select(*on), on))
    return results
