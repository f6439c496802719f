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
    ``n_train``: events of the training window, where there is one; ``first_day, last_day``: when the pair was shown,
    where the log has times. The same on every row of a context: ``context_n, context_reward_sum,
    context_reward_sq_sum, context_n_train``, and the numbers of its actions, ``context_actions`` (evaluated),
    ``context_actions_train``, ``context_actions_all``.
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

    @property
    def contexts(self) -> ir.Table:
        """Return the contexts of the evaluated window, with their columns."""
        table = self.table.filter(self.table.context_n > 0)
        shared = [name for name in table.columns if name.startswith("context_") and name not in self.columns.keys]
        return table.group_by(*self.columns.context_keys).agg(**{name: table[name].max() for name in shared})


def window_counts(rows: ir.Table, window: WindowName) -> tuple[ir.Value, ir.Value]:
    """Return, as columns of cells, the events of a cell and of its context in a window."""
    if window == "evaluated" or (window == "all" and "n_train" not in rows.columns):
        return rows.n, rows.context_n
    if window == "train":
        return rows.n_train, rows.context_n_train
    return rows.n + rows.n_train, rows.context_n + rows.context_n_train


@contextmanager
def open_cells(evaluated: Events, train: Events | None = None) -> Iterator[Cells]:
    """Sum the events of one or two windows into cells; they are released on leaving."""
    if train is not None:
        train = _beside(evaluated, train)
    held = evaluated.engine.materialise(_with_contexts(cell_sums(evaluated, train), evaluated.columns))
    try:
        yield Cells(evaluated, train, held)
    finally:
        held.release()


def _with_contexts(cells: ir.Table, columns: Columns) -> ir.Table:
    whole = ibis.window(group_by=list(columns.context_keys))
    sums = {f"context_{name}": cells[name].sum() for name in ("n", "reward_sum", "reward_sq_sum")}
    sums["context_actions"] = (cells.n > 0).cast("float64").sum()
    if "n_train" in cells.columns:
        sums["context_n_train"] = cells.n_train.sum()
        sums["context_actions_train"] = (cells.n_train > 0).cast("float64").sum()
        sums["context_actions_all"] = cells.n.count().cast("float64")
    return cells.mutate(**{name: value.over(whole) for name, value in sums.items()})


def cell_sums(evaluated: Events, train: Events | None) -> ir.Table:
    """Group the events of the windows by (context, action), in one pass over each log."""
    nothing = ibis.literal(False)
    if train is None:
        events = _marked(evaluated, in_window=evaluated.inside, in_train=nothing)
    elif train.log is evaluated.log:
        events = _marked(evaluated, in_window=evaluated.inside, in_train=train.inside)
    else:
        later = _marked(evaluated, in_window=evaluated.inside, in_train=nothing)
        earlier = _marked(train, in_window=nothing, in_train=train.inside)
        events = ibis.union(later, earlier, distinct=False)
    rewards = events.in_window * events[REWARD]
    sums = {"n": events.in_window.sum(), "reward_sum": rewards.sum()}
    sums["reward_sq_sum"] = (rewards * events[REWARD]).sum()
    if train is not None:
        sums["n_train"] = events.in_train.sum()
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
