"""Windows that respect epochs: whole epochs until a moment, and each unit's first epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import EPOCH, TIME, EmptyWindowError, Moment, UsageError, iso
from warmstart.events.epochs import COLUMN, Epochs, epoch_of, epoch_start

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.log_table import LogTable
    from warmstart.events.window import Events

FIRST, LAST = "first_time", "last_time"


def until(events: Events, moment: Moment) -> Events:
    """Return the events before a moment; with epochs, those of the epochs that had ended by then."""
    if events.columns.time is None:
        raise UsageError("A log without a time column has no events until a moment.", "Name it: time=... (--time).")
    stop, epochs = events.log.microseconds(moment), events.log.epochs
    window = events.window
    if epochs is not None and epochs.kind != "auto":
        stop = _last_end(events, epochs, stop)
    if window.last is None or stop > window.last:
        return events
    if window.first is None or stop <= window.first:
        what = "are no events" if epochs is None else "is no whole epoch"
        raise EmptyWindowError(
            f"There {what} until {iso(events.log.microseconds(moment))}.",
            f"The log runs from {iso(window.first)} to {iso(window.last)}.",
        )
    return events.split(at=iso(stop))[0]


def _last_end(events: Events, epochs: Epochs, stop: int) -> int:
    """Return the last moment, not after ``stop``, at which no epoch goes on."""
    table = events.table
    if epochs.kind != COLUMN:
        last = table.filter(table[TIME] < stop)
        number = events.engine.fetch(last.agg(number=epoch_of(last, epochs.kind).max()))[0]["number"]
        if number is None:
            return stop
        end = epoch_start(epochs.kind, number + 1)
        return stop if end <= stop else epoch_start(epochs.kind, number)
    spans = table.group_by(EPOCH).agg(**{FIRST: table[TIME].min(), LAST: table[TIME].max()})
    rows = events.engine.fetch(spans)
    while cut := [row[FIRST] for row in rows if row[FIRST] < stop <= row[LAST]]:
        stop = min(cut)
    return stop


def first_epochs(events: Events) -> Events:
    """Return the events of every unit in the first epoch of the log in which it came."""
    epochs, units = events.log.epochs, list(events.columns.unit_keys)
    if not units or epochs is None or epochs.kind == "auto" or events.columns.time is None:
        raise UsageError(
            "First epochs of units need a unit, epochs and times.", "Name unit=..., epoch=... and time=..."
        )
    if events.folds is not None:
        raise UsageError("These events are folds already.", "Ask the log they came from.")
    log = in_first_epochs(events.log)
    restricted = replace(events, log=replace(log, rows=_count(events, log.table)))
    inside = restricted.table
    sums = inside.agg(n=inside.count(), first=inside[TIME].min(), last=inside[TIME].max())
    n, since, last = events.engine.fetch(sums)[0].values()
    if not n:
        raise EmptyWindowError("No unit is in its first epoch in this window.", "Evaluate an earlier window.")
    return replace(restricted, window=replace(events.window, events=n, first=since, last=last))


def in_first_epochs(log: LogTable) -> LogTable:
    """Return a log with the events of every unit in its first epoch only."""
    table, epochs, units = log.table, log.epochs, list(log.columns.unit_keys)
    if epochs is None:
        return log
    joined = table.join(_first_epochs(table, epochs, units), units)
    kept = joined.filter(epoch_of(joined, epochs.kind) == joined[FIRST]).select(*table.columns)
    return replace(log, table=kept, first_epochs=True)


def _first_epochs(table: ir.Table, epochs: Epochs, units: list[str]) -> ir.Table:
    first = table.group_by(*units).agg(**{TIME: table[TIME].min()})
    if epochs.kind != COLUMN:
        return first.select(*units, **{FIRST: epoch_of(first, epochs.kind)})
    # Of two epochs at the first moment, either may be the first.
    there = table.join(first, [*units, TIME])
    return there.group_by(*units).agg(**{FIRST: there[EPOCH].min()})


def _count(events: Events, table: ir.Table) -> int:
    return int(events.engine.fetch(table.agg(rows=table.count()))[0]["rows"])
