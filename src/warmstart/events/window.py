"""Events: a checked log, or a window of it in time or by folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import Any, overload

import ibis
import ibis.expr.types as ir

from warmstart.core import (
    EVENT_WEIGHT,
    TIME,
    ColumnError,
    Columns,
    EmptyWindowError,
    Moment,
    UsageError,
    Window,
    iso,
    quoted,
)
from warmstart.engine import Engine, StoredTable, float_literal
from warmstart.events import epoch_windows
from warmstart.events.folds import FOLD_OF_SPLIT, MOST_FOLDS, Folds, hashed_columns
from warmstart.events.log_table import LogTable
from warmstart.events.split import Cut, cut_at, cut_at_rank

# Which window an event is in, while units are counted.
PLACE = "place"


@dataclass(frozen=True)
class Events:
    """A log whose columns and values were checked when it was read, or a window of one.

    ``log``: the whole log as a table of fixed columns; ``dropped``: rows left out because a value was missing;
    ``units``: how many the window has, where each counts the same, and an event one over the events of its unit.
    """

    log: LogTable
    window: Window
    dropped: int = 0
    folds: Folds | None = None
    units: float | None = None

    @property
    def columns(self) -> Columns:
        """Return the user's column names."""
        return self.log.columns

    @property
    def engine(self) -> Engine:
        """Return the engine that holds the log."""
        return self.log.engine

    @property
    def total(self) -> float:
        """Return what all events count: T, or the units where each of these counts the same."""
        return float(len(self) if self.units is None else self.units)

    @property
    def inside(self) -> ir.BooleanValue:
        """Return the condition, on the whole log, that an event is in this window."""
        time = self.log.table[TIME] if self.columns.time is not None else None
        condition: ir.BooleanValue = ibis.literal(True)
        if time is not None and self.window.start is not None:
            condition &= time >= self.window.start
        if time is not None and self.window.stop is not None:
            condition &= time < self.window.stop
        return condition if self.folds is None else condition & self.folds.hold(self.log)

    @property
    def table(self) -> ir.Table:
        """Return the window's events: context_0, ..., action, reward in [0, 1], and time in microseconds, if any."""
        if self.window.start is None and self.window.stop is None and self.folds is None:
            return self.log.table
        return self.log.table.filter(self.inside)

    @overload
    def split(self, *, at: Moment | None = None, fraction: float | None = None) -> tuple[Events, Events]: ...

    @overload
    def split(self, *, folds: int, seed: int = 0) -> list[tuple[Events, Events]]: ...

    def split(
        self, *, at: Moment | None = None, fraction: float | None = None, folds: int | None = None, seed: int = 0
    ) -> tuple[Events, Events] | list[tuple[Events, Events]]:
        """Split in time into (train, test), or at random into folds: ``train, test = events.split(fraction=0.65)``.

        Args:
            at: Events before this moment come first.
            fraction: About this share of the time-ordered events comes first; events of the same time stay together.
            folds: Return this many pairs of (train, test), each event in one test window. The fold is a hash of the
                unit or of the event's id, if the log has one, else of context, action and time, the same on every
                engine.
            seed: Of the folds.
        """
        if folds is not None:
            if at is not None or fraction is not None:
                raise UsageError("Split in time or into folds, not both.")
            return self._in_folds(folds, seed)
        if (at is None) == (fraction is None):
            raise UsageError("Split either at a time or at a fraction.", "Pass one of at=..., fraction=..., folds=...")
        if self.columns.time is None:
            raise UsageError(
                "A log without a time column cannot be split in time.",
                "Name the column with time=..., or split at random with folds=5.",
            )
        cut = self._cut(at, fraction)
        for side in ("earlier", "later"):
            if not getattr(cut, side):
                raise EmptyWindowError(
                    f"Split at {iso(cut.time)}, the {side} window has no events.",
                    f"The log runs from {iso(self.window.first)} to {iso(self.window.last)}.",
                )
        whole = self.window
        before = replace(whole, events=cut.earlier, stop=cut.time, last=cut.last_earlier)
        after = replace(whole, events=cut.later, start=cut.time, first=cut.first_later)
        return replace(self, window=before), replace(self, window=after)

    def until(self, moment: Moment) -> Events:
        """Return the events before a moment; where the log has epochs, those of epochs that had ended by then.

        Bounds over epochs hold at the end of every epoch at once, and never inside one.
        """
        return epoch_windows.until(self, moment)

    def first_epochs(self) -> Events:
        """Return the events of every unit in the first epoch of the log in which it came; others are left out.

        Where units come back in later epochs, bounds hold for these events only. Ask before splitting the log.
        """
        return epoch_windows.first_epochs(self)

    def _in_folds(self, folds: int, seed: int) -> list[tuple[Events, Events]]:
        if self.folds is not None:
            raise UsageError("These events are folds already.", "Split the log they came from.")
        if not (hasattr(folds, "__index__") and 2 <= folds <= MOST_FOLDS):
            raise UsageError(f"There can be 2 to {MOST_FOLDS} folds, and {quoted(folds)} were asked for.")
        folds = index(folds)
        keys = tuple(self.columns.fixed_to_given[key] for key in hashed_columns(self.log))
        parts = [Folds(folds, seed, fold, keys) for fold in range(folds)]
        whole = replace(self, log=parts[0].marked(self.log))
        table = whole.table
        sums = {"n": table.count()}
        if TIME in table.columns:
            sums |= {"first": table[TIME].min(), "last": table[TIME].max()}
        sizes = {row[FOLD_OF_SPLIT]: row for row in self.engine.fetch(table.group_by(FOLD_OF_SPLIT).agg(**sums))}
        if len(sizes) < folds:
            raise EmptyWindowError(f"Of {folds} folds, {folds - len(sizes)} have no events.", "Ask for fewer.")
        return [(whole._fold(replace(part, rest=True), sizes), whole._fold(part, sizes)) for part in parts]

    def _fold(self, part: Folds, sizes: dict[int, dict[str, Any]]) -> Events:
        rows = [row for fold, row in sizes.items() if part.includes(fold)]
        first = min((row["first"] for row in rows if "first" in row), default=None)
        last = max((row["last"] for row in rows if "last" in row), default=None)
        window = replace(self.window, events=sum(row["n"] for row in rows), first=first, last=last)
        return replace(self, window=window, folds=part)

    def _cut(self, at: Moment | None, fraction: float | None) -> Cut:
        if at is not None:
            return cut_at(self.engine, self.table, self.log.microseconds(at))
        if fraction is None or not 0 < fraction < 1:
            raise UsageError(f"The fraction must lie between 0 and 1, and is {fraction}.")
        window = self.window
        if window.first is None or window.last is None:
            raise EmptyWindowError("There are no events to split.")
        return cut_at_rank(self.engine, self.table, fraction * window.events, first=window.first, last=window.last)

    def __len__(self) -> int:
        return self.window.events

    def __repr__(self) -> str:
        named: dict[str, Any] = {"context": ", ".join(self.columns.context), "action": self.columns.action}
        named |= {"reward": self.columns.reward} | ({"time": self.columns.time} if self.columns.time else {})
        named |= {"unit": ", ".join(self.columns.unit)} if self.columns.unit else {}
        return f"Events({self.window}; {', '.join(f'{key}={value}' for key, value in named.items())})"


def event_weight(table: ir.Table) -> ir.Value:
    """Return what each event counts: 1, unless units count the same."""
    return table[EVENT_WEIGHT] if EVENT_WEIGHT in table.columns else float_literal(1)


def event_count(table: ir.Table) -> ir.Value:
    """Return what all events of a table, or of a group of it, count together."""
    return table[EVENT_WEIGHT].sum() if EVENT_WEIGHT in table.columns else table.count().cast("float64")


def per_unit(evaluated: Events, train: Events | None) -> tuple[Events, Events | None]:
    """Return windows in which every unit counts the same: an event counts one over its unit's events in the window."""
    if train is not None and train.log is not evaluated.log:
        if not train.columns.unit:
            raise UsageError("The training log was read without a unit.", "Name it: unit=... (--unit).")
        return _per_unit(evaluated)[0], _per_unit(train)[0]
    return _per_unit(evaluated, train)


def _per_unit(evaluated: Events, train: Events | None = None) -> tuple[Events, Events | None]:
    """Weigh the events of one or two windows of a log."""
    log, units = evaluated.log, list(evaluated.columns.unit_keys)
    place = evaluated.inside.ifelse(0, 1 if train is None else train.inside.ifelse(1, 2))
    table = log.table.mutate(**{PLACE: place})
    counts = table.group_by(*units, PLACE).agg(events_of_unit=table.count().cast("float64"))
    joined = table.join(counts, [*units, PLACE])
    weight = {EVENT_WEIGHT: float_literal(1) / joined.events_of_unit}
    weighed = replace(log, table=joined.select(*log.table.columns, **weight))
    results = {row[PLACE]: row["units"] for row in log.engine.fetch(counts.group_by(PLACE).agg(units=counts.count()))}
    return (
        replace(evaluated, log=weighed, units=results[0]),
        None if train is None else replace(train, log=weighed, units=results.get(1, 0)),
    )


def in_one_engine(train: Events, evaluated: Events) -> Events:
    """Return the training window in the engine of the evaluated one; refuse windows that cannot be used together."""
    same_log = train.log is evaluated.log
    apart = train.folds is not None and not train.folds.overlap(evaluated.folds)
    overlap = not apart and train.window.overlaps(evaluated.window)
    if overlap and (same_log or _of_one_source(train, evaluated)):
        raise UsageError("The training window and the evaluated window overlap.", "Split the log in time.")
    if same_log:
        return train
    own, others = train.columns.context, evaluated.columns.context
    if len(own) != len(others) or (own != others and set(own) == set(others)):
        raise ColumnError(
            f"The training log has the context ({', '.join(map(quoted, own))}) and the evaluated log "
            f"({', '.join(map(quoted, others))}).",
            "Name the same columns in the same order.",
        )
    log = train.log.on(evaluated.engine)
    if train.folds is not None and log is not train.log:
        log = train.folds.marked(log)
    for name in evaluated.columns.keys:
        kind, own_kind = evaluated.log.table[name].type(), log.table[name].type()
        if kind != own_kind:
            given = quoted(evaluated.columns.fixed_to_given[name])
            raise ColumnError(f"{given} has type {kind} in the evaluated log and {own_kind} in the training log.")
    return replace(train, log=log)


def _of_one_source(train: Events, evaluated: Events) -> bool:
    """Tell whether two logs were read from the same place; a bare name says nothing, since engines differ."""
    origin = train.log.origin
    known = origin.path or origin.url if isinstance(origin, StoredTable) else isinstance(origin, str | Path | list)
    return bool(known) and origin == evaluated.log.origin
