"""Check the values of a log in one pass: missing values, reward range, propensities, times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import (
    PROPENSITY,
    REWARD,
    TIME,
    ColumnError,
    DataError,
    EmptyWindowError,
    MissingValueError,
    PropensityRangeError,
    RewardRangeError,
    Window,
    counted,
    quoted,
)
from warmstart.engine import example_rows
from warmstart.events.log_table import TIME_AS_WRITTEN, LogTable, missing, ticks_per_second

if TYPE_CHECKING:
    import ibis.expr.types as ir

# A time of day that ends in Z, +02:00, +0200 or +02. RE2 and Java read it alike.
ZONE_AT_THE_END = r"[0-9]:[0-9]{2}([:.][0-9.]+)? ?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)$"


def check_log(log: LogTable, *, drop_nulls: bool) -> tuple[LogTable, Window, int]:
    """Return the checked log (its unit of time known), its window, and the number of dropped rows."""
    summary = log.engine.fetch(_summary(log))[0]
    rows = summary["rows"]
    if not rows:
        raise EmptyWindowError(f"{log.where} has no rows.")
    nulls = {name: summary[f"missing_{name}"] for name in log.columns.fixed_to_given if summary[f"missing_{name}"]}
    if nulls and not drop_nulls:
        raise _missing_values(log, nulls)
    if nulls:
        log = log.without_missing()
        summary = log.engine.fetch(_summary(log))[0]
        if not summary["rows"]:
            raise EmptyWindowError(f"{log.where}: every row lacks a value; nothing is left.")
    dropped = rows - summary["rows"]
    if summary["reward_outside"]:
        raise _reward_outside(log, summary["reward_outside"])
    if summary.get("propensity_outside"):
        raise _propensity_outside(log, summary["propensity_outside"])
    if summary.get("zoned") and summary.get("unzoned"):
        raise ColumnError(
            f"{log.where}: of the times in {quoted(log.columns.time)}, {summary['zoned']:,} have a zone and "
            f"{summary['unzoned']:,} have none.",
            "Write all with a zone, or none.",
        )
    log = replace(log, rows=summary["rows"])
    if log.columns.time is None:
        return log, Window(log.rows), dropped
    log = _with_unit(log, summary["first"], summary["last"])
    ticks = log.ticks_per_second or 1_000_000
    first, last = (time * 1_000_000 // ticks for time in (summary["first"], summary["last"]))
    return log, Window(log.rows, first=first, last=last), dropped


def _summary(log: LogTable) -> ir.Table:
    """Return one row: the number of rows, of missing and of invalid values, and the first and last time."""
    table = log.table
    low, high = log.reward_range
    reward = table[REWARD]
    sums: dict[str, ir.Value] = {"rows": table.count()}
    for name in log.columns.fixed_to_given:
        sums[f"missing_{name}"] = _count(missing(table[name]))
    sums["reward_outside"] = _count(((reward < low) | (reward > high)) & ~missing(reward))
    if PROPENSITY in table.columns:
        p = table[PROPENSITY]
        sums["propensity_outside"] = _count(((p <= 0) | (p > 1)) & ~missing(p))
    if TIME_AS_WRITTEN in table.columns:
        zoned = table[TIME_AS_WRITTEN].re_search(ZONE_AT_THE_END)
        sums |= {"zoned": _count(zoned), "unzoned": _count(~zoned)}
    if TIME in table.columns:
        sums |= {"first": table[TIME].min(), "last": table[TIME].max()}
    return table.agg(**sums)


def _count(condition: ir.BooleanValue) -> ir.Value:
    return condition.cast("int64").sum().coalesce(0)


def _with_unit(log: LogTable, first: int, last: int) -> LogTable:
    if not log.epoch_integers:
        return log
    ticks = ticks_per_second(first, last)
    if ticks is None:
        raise ColumnError(
            f"{log.where}: the times in {quoted(log.columns.time)} run from {first} to {last}, which are no seconds, "
            "milli-, micro- or nanoseconds since 1970.",
            "Turn them into timestamps first.",
        )
    return replace(log, ticks_per_second=ticks)


def _missing_values(log: LogTable, nulls: dict[str, int]) -> DataError:
    given = log.columns.fixed_to_given
    example = example_rows(log.engine, log.table.filter(missing(log.table[next(iter(nulls))])), given)
    hint = "Pass drop_nulls=True (--drop-nulls) to go on without those rows, or mend the log."
    if list(nulls) == [TIME] and TIME_AS_WRITTEN in log.table.columns:
        rows = counted(nulls[TIME], "row")
        return MissingValueError(f"{log.where}: {quoted(given[TIME])} is no time in {rows} ({example}).", hint)
    parts = [f"{quoted(given[name])} in {counted(rows, 'row')}" for name, rows in nulls.items()]
    return MissingValueError(f"{log.where} has nulls, NaN or infinities: {', '.join(parts)} ({example}).", hint)


def _reward_outside(log: LogTable, rows: int) -> DataError:
    low, high = log.reward_range
    reward = log.table[REWARD]
    example = example_rows(log.engine, log.table.filter((reward < low) | (reward > high)), log.columns.fixed_to_given)
    return RewardRangeError(
        f"{log.where}: reward {quoted(log.columns.reward)} has {counted(rows, 'value')} "
        f"outside [{low:g}, {high:g}] ({example}).",
        "Pass reward_range=(lowest, highest) (--reward-range LO HI) if that is its scale.",
    )


def _propensity_outside(log: LogTable, rows: int) -> DataError:
    p = log.table[PROPENSITY]
    example = example_rows(log.engine, log.table.filter((p <= 0) | (p > 1)), log.columns.fixed_to_given)
    return PropensityRangeError(
        f"{log.where}: the propensity {quoted(log.columns.propensity)} has {counted(rows, 'value')} outside (0, 1] "
        f"({example}).",
        "It is the probability with which the logged action was chosen. Leave the column out to have it estimated.",
    )
