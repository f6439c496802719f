"""The log as a table of fixed columns: context, action, reward, time, ..., renamed and cast."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from warmstart.core import (
    EPOCH,
    EVENT_ID,
    MICROSECONDS_PER_DAY,
    PROPENSITY,
    REWARD,
    TIME,
    ColumnError,
    Columns,
    EmptyWindowError,
    Moment,
    Outcome,
    UsageError,
    microseconds,
    quoted,
)
from warmstart.engine import Engine, describe, open_source
from warmstart.events.epochs import Epochs
from warmstart.events.utility import Utility, with_sum

# The unit of epoch integers follows from their size: these bounds are the years 1990 to 2100 in seconds.
_EARLIEST_SECOND, _LATEST_SECOND = 631_152_000, 4_102_444_800
SECONDS_PER_DAY = 86_400
# What integers count that are no times since 1970: days, or steps that only say what came first.
Numbered = Literal["day", "step"]
WHOLE = re.compile(r"-?\d+$")
# The text of times, kept until they are checked, so that a message can show what cannot be read.
TIME_AS_WRITTEN = "time_as_written"
# Dates as Central Europe writes them: with points, the day is first everywhere. With slashes nobody could tell.
DAY_FIRST = "^ *([0-9]{1,2})[.]([0-9]{1,2})[.]([0-9]{4})[ T]*(.*)$"
# What another model would have chosen, where a policy asks for that: it may be null.
FURTHER = "further_"


@dataclass(frozen=True)
class LogTable:
    """The whole log in one engine. ``origin`` is the user's source, so that another engine can open it too.

    ``rows``: events of the whole log, once it is checked. ``ticks_per_day``: the unit of times that are integers, None
    for timestamps and dates; ``numbered``: what these count if not time since 1970. ``epochs``: how the log is divided
    where that matters, if it was said. ``outcomes``: what is valued, the reward first; its column is called ``reward``
    whatever it is; ``utility``: the weighted sum of the others that stands there, if one does.
    ``first_epochs``: only the events of every unit's first epoch are left.
    """

    engine: Engine
    table: ir.Table
    columns: Columns
    origin: Any
    rows: int = 0
    outcomes: tuple[Outcome, ...] = (Outcome(REWARD),)
    complete_rows_only: bool = False
    epoch_integers: bool = False
    epochs: Epochs | None = None
    ticks_per_day: int | None = None
    numbered: Numbered | None = None
    first_epochs: bool = False
    utility: Utility | None = None

    @property
    def as_read(self) -> tuple[Outcome, ...]:
        """Return the outcomes that were read: without the utility, if there is one."""
        return self.outcomes if self.utility is None else (replace(self.outcomes[1], column=REWARD), *self.outcomes[2:])

    @property
    def reward_range(self) -> tuple[float, float]:
        """Return the lowest and the highest possible reward."""
        return self.outcomes[0].range

    @property
    def where(self) -> str:
        """Return the name of the log for messages."""
        return describe(self.origin)

    def on(self, engine: Engine) -> LogTable:
        """Return the same log in another engine."""
        if engine is self.engine:
            return self
        raw = raw_log(engine, self.origin, self.columns)
        raw = raw.without_missing() if self.complete_rows_only else raw
        return settled(replace(self, engine=engine, table=raw.table))

    def without_missing(self) -> LogTable:
        """Return the log without rows that have a null, NaN or infinity; outcomes but the reward may be unknown."""
        free = [name for name in self.table.columns if name in self.columns.also_keys or name.startswith(FURTHER)]
        present = [~missing(self.table[name]) for name in self.table.columns if name not in free]
        return replace(self, table=self.table.filter(*present), complete_rows_only=True)

    def microseconds(self, moment: Moment) -> int:
        """Return a user's moment as microseconds since 1970; an integer is in the unit of the log's own times."""
        if self.numbered is not None and isinstance(moment, str) and WHOLE.match(moment):
            moment = int(moment)
        if not isinstance(moment, int):
            return microseconds(moment)
        if self.ticks_per_day is None:
            raise UsageError(
                f"The integer {moment} cannot be a moment in a log whose times are not integers.",
                "Write it like 2026-10-21 or 2026-10-21T06:00:00+02:00.",
            )
        return moment * MICROSECONDS_PER_DAY // self.ticks_per_day


def raw_log(engine: Engine, origin: Any, columns: Columns, *, further: Sequence[str] = ()) -> LogTable:
    """Return a log under fixed names: values cast but not yet checked, times not yet scaled.

    Args:
        engine: Where it is opened.
        origin: The user's source.
        columns: To read.
        further: Columns to be read too, as ``further_0``, ...: another model's choices, or segments.
    """
    more = {f"{FURTHER}{i}": name for i, name in enumerate(further)}
    table = open_source(engine, origin, columns.fixed_to_given | more)
    where = describe(origin)
    try:
        keys = {name: as_key(table[name], columns.fixed_to_given[name], where) for name in columns.keys}
        cast: dict[str, ir.Value] = {**keys, REWARD: as_number(table[REWARD], columns.reward, where)}
        if columns.propensity is not None:
            cast[PROPENSITY] = as_number(table[PROPENSITY], columns.propensity, where, what="propensity")
        if columns.event_id is not None:
            cast[EVENT_ID] = as_key(table[EVENT_ID], columns.event_id, where)
        if columns.epoch is not None:
            cast[EPOCH] = as_key(table[EPOCH], columns.epoch, where, what="an epoch")
        for name, unit in zip(columns.unit_keys, columns.unit, strict=True):
            cast[name] = as_key(table[name], unit, where, what="a unit")
        for name, also in zip(columns.also_keys, columns.also, strict=True):
            cast[name] = as_number(table[name], also, where, what="outcome")
        if columns.time is not None:
            cast |= as_time(engine, table[TIME], columns.time, where)
        for name, given in more.items():
            cast[name] = as_key(table[name], given, where, what="a choice or a segment")
    except ColumnError:
        if not engine.fetch(table.agg(rows=table.count()))[0]["rows"]:
            raise EmptyWindowError(f"{where} has no rows.") from None
        raise
    epoch_integers = columns.time is not None and table[TIME].type().is_integer()
    return LogTable(engine, table.select(**cast), columns, origin, epoch_integers=epoch_integers)


def settled(log: LogTable) -> LogTable:
    """Return a checked log with outcomes scaled to [0, 1], null where unknown, and times in microseconds."""
    table = log.table.drop(TIME_AS_WRITTEN) if TIME_AS_WRITTEN in log.table.columns else log.table
    scaled: dict[str, ir.Value] = {}
    for outcome in log.as_read:
        value = table[outcome.column]
        if outcome.known < 1:
            value = missing(value).ifelse(None, value)
        if outcome.range != (0.0, 1.0):
            value = (value - outcome.low) / outcome.width
        scaled |= {} if value is table[outcome.column] else {outcome.column: value}
    table = table.mutate(**scaled) if scaled else table
    table = table if log.utility is None else with_sum(table, log.as_read, log.utility)
    if log.ticks_per_day is not None:
        table = table.mutate(**{TIME: in_microseconds(table[TIME], log.ticks_per_day)})
    return replace(log, table=table)


def in_microseconds(time: ir.Value, ticks: int) -> ir.Value:
    """Return integers of ``ticks`` a day as microseconds."""
    if ticks > MICROSECONDS_PER_DAY:
        per_microsecond = ticks // MICROSECONDS_PER_DAY
        whole = time - ((time % per_microsecond) + per_microsecond) % per_microsecond
        return (whole / per_microsecond).round().cast("int64")
    return time * (MICROSECONDS_PER_DAY // ticks)


def missing(value: ir.Value) -> ir.BooleanValue:
    """Return whether a value is null, NaN or infinite, as an expression."""
    if not value.type().is_floating():
        return value.isnull()
    # Neither isnan() nor isinf(): SQLite has no rule for the first, and Ibis compiles the second to FALSE on Spark.
    return value.isnull() | ~(value.abs() <= sys.float_info.max).fill_null(False)


def ticks_per_day(low: int, high: int) -> int | None:
    """Return the unit of epoch integers by their size; None if they are not times of 1990 to 2100."""
    units = (1, 1_000, 1_000_000, 1_000_000_000)
    known = (unit for unit in units if _EARLIEST_SECOND * unit <= low <= high < _LATEST_SECOND * unit)
    unit = next(known, None)
    return None if unit is None else unit * SECONDS_PER_DAY


def as_key(column: ir.Value, given: str, where: str, *, what: str = "a context or an action") -> ir.Value:
    """Return a column cast for grouping and joining; refuse a type that cannot be a key."""
    kind = column.type()
    if kind.is_nested() or kind.is_binary() or kind.is_interval() or kind.is_geospatial():
        raise ColumnError(
            f"{where}: column {quoted(given)} has type {kind}, which cannot be {what}.",
            "Use numbers, text, dates or booleans.",
        )
    if kind.is_uuid():
        return column.cast("string")
    if kind.is_timestamp():
        return column.cast("timestamp")
    if kind.is_integer():
        return column.cast("int64")
    return column.cast("float64") if kind.is_floating() or kind.is_decimal() else column


def as_number(column: ir.Value, given: str, where: str, *, what: str = "reward") -> ir.Value:
    """Return a reward, an outcome or a propensity as float64; refuse a column that is not numeric."""
    kind: dt.DataType = column.type()
    if kind.is_boolean() and what != "propensity":
        return column.cast("int8").cast("float64")
    if kind.is_numeric():
        return column.cast("float64")
    hint = f"{'An' if what == 'outcome' else 'A'} {what} is a number{'' if what == 'propensity' else ' or a boolean'}."
    raise ColumnError(f"{where}: the {what} {quoted(given)} has type {kind}.", hint)


def text_as_time(column: ir.StringValue) -> ir.Value:
    """Return text as times: ISO 8601, or days first with points between (31.12.2026 14:30); null if it is neither."""
    day, month, year, clock = (column.re_extract(DAY_FIRST, place) for place in (1, 2, 3, 4))
    written = year + "-" + month + "-" + day + " " + clock
    return column.re_search(DAY_FIRST).ifelse(written.strip(), column).try_cast("timestamp('UTC')")


def as_time(engine: Engine, column: ir.Value, given: str, where: str) -> dict[str, ir.Value]:
    """Return times as microseconds since 1970, or integers in their own unit, and the text of times that are text."""
    kind = column.type()
    if kind.is_timestamp() or kind.is_date():
        return {TIME: engine.epoch_microseconds(column)}
    if kind.is_string():
        return {TIME: engine.epoch_microseconds(text_as_time(column)), TIME_AS_WRITTEN: column}
    if kind.is_integer():
        return {TIME: column.cast("int64")}
    raise ColumnError(
        f"{where}: the time {quoted(given)} has type {kind}.", "A time is a timestamp, a date or an epoch integer."
    )
