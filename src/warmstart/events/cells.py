"""Cells: all that an estimate needs of the events, summed once in the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ibis

from warmstart.core.errors import ColumnError, UsageError
from warmstart.core.names import DAY, MICROSECONDS_PER_DAY, REWARD, TIME, Columns, WindowName
from warmstart.core.text import quoted
from warmstart.events.events import Events

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


@dataclass(frozen=True)
class Cells:
    """One row per (context, action) seen in the evaluated or the training window, held in the engine.

    ``n, reward_sum, reward_sq_sum``: over the evaluated window (zero where the pair was seen in training only);
    ``n_train``: events of the training window; ``context_n, context_n_train``: the same, summed over the context;
    ``first_day, last_day``: when the pair was shown, where the log has times.
    """

    evaluated: Events
    train: Events | None
    table: ir.Table

    @property
    def engine(self) -> Engine:
        """Return the engine that holds the cells."""
        return self.evaluated.engine

    @property
    def columns(self) -> Columns:
        """Return the user's names of the columns."""
        return self.evaluated.columns

    @property
    def has_time(self) -> bool:
        """Tell whether days are known in every window."""
        return self.columns.time is not None and (self.train is None or self.train.columns.time is not None)

    @property
    def daily_traffic(self) -> ir.Table:
        """Return the evaluated window's events by context and day: context_0, ..., day, n."""
        events = self.evaluated.table
        keys = {name: events[name] for name in self.columns.context_keys}
        return events.group_by(**keys, day=_day(events)).agg(n=events.count().cast("float64"))

    def counts(self, window: WindowName) -> tuple[ir.Value, ir.Value]:
        """Return, as columns of the table, the events of a cell and of its context in a window."""
        table = self.table
        if window == "evaluated":
            return table.n, table.context_n
        if self.train is None and window == "train":
            raise UsageError("There is no training window.", "Split the log, or pass train=...")
        if window == "train":
            return table.n_train, table.context_n_train
        return table.n + table.n_train, table.context_n + table.context_n_train


@contextmanager
def open_cells(evaluated: Events, train: Events | None = None) -> Iterator[Cells]:
    """Sum the events of one or two windows into cells; they are released on leaving."""
    if train is not None:
        train = _beside(evaluated, train)
    columns = evaluated.columns
    summed = cell_sums(evaluated, train)
    whole_context = ibis.window(group_by=list(columns.context_keys))
    with_contexts = summed.mutate(
        context_n=summed.n.sum().over(whole_context), context_n_train=summed.n_train.sum().over(whole_context)
    )
    held = evaluated.engine.materialise(with_contexts)
    try:
        yield Cells(evaluated, train, held)
    finally:
        held.release()


def cell_sums(evaluated: Events, train: Events | None) -> ir.Table:
    """Group the events of the windows by (context, action), in one pass over each log."""
    if train is not None and train.log is evaluated.log:
        parts = [_marked(evaluated, in_window=evaluated.inside, in_train=train.inside)]
    else:
        parts = [_marked(evaluated, in_window=evaluated.inside, in_train=ibis.literal(False))]
        if train is not None:
            parts.append(_marked(train, in_window=ibis.literal(False), in_train=train.inside))
    events = ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
    rewards = events.in_window * events[REWARD]
    sums = {
        "n": events.in_window.sum(),
        "reward_sum": rewards.sum(),
        "reward_sq_sum": (rewards * events[REWARD]).sum(),
        "n_train": events.in_train.sum(),
    }
    if DAY in events.columns:
        sums |= {"first_day": events[DAY].min(), "last_day": events[DAY].max()}
    return events.group_by(*evaluated.columns.keys).agg(**sums)


def _marked(events: Events, *, in_window: ir.Value, in_train: ir.Value) -> ir.Table:
    table = events.log.table
    days = {DAY: _day(table)} if events.columns.time is not None else {}
    return table.filter(in_window | in_train).select(
        *events.columns.keys,
        REWARD,
        in_window=in_window.cast("float64"),
        in_train=in_train.cast("float64"),
        **days,
    )


def _day(table: ir.Table) -> ir.Value:
    return (table[TIME] / MICROSECONDS_PER_DAY).floor().cast("int64")


def _beside(evaluated: Events, train: Events) -> Events:
    if train.log is evaluated.log:
        if train.window.overlaps(evaluated.window):
            raise UsageError("The training window and the evaluated window overlap.", "Split the log in time.")
        return train
    if len(train.columns.context) != len(evaluated.columns.context):
        raise ColumnError("The training log and the evaluated log have different numbers of context columns.")
    train = replace(train, log=train.log.on(evaluated.engine))
    for name in evaluated.columns.keys:
        kinds = [events.log.table[name].type() for events in (evaluated, train)]
        if kinds[0] != kinds[1]:
            given = evaluated.columns.fixed_to_given[name]
            raise ColumnError(
                f"{quoted(given)} has type {kinds[0]} in the evaluated log and {kinds[1]} in the training log."
            )
    return train
