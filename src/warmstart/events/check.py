"""Check the values of a log in one pass, before anything is computed from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import ColumnError, DataError, EmptyWindowError, MissingValueError, RewardRangeError
from warmstart.core.names import REWARD, TIME
from warmstart.core.text import counted, quoted
from warmstart.core.window import Window
from warmstart.events.log import LogTable, missing, ticks_per_second

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHOWN_OFFENDERS = 3


def check_log(log: LogTable, *, drop_nulls: bool) -> tuple[LogTable, Window, int]:
    """Check a log; return it (dropped rows gone, its unit of time known), its window and how many rows were dropped."""
    found = log.engine.fetch(_findings(log))[0]
    if not found["rows"]:
        raise EmptyWindowError(f"{log.where} has no rows.")
    lacking = {name: found[f"missing_{name}"] for name in log.table.columns if found[f"missing_{name}"]}
    dropped = 0
    if lacking and not drop_nulls:
        raise _missing_values(log, lacking)
    if lacking:
        whole = found["rows"]
        log = log.without_missing()
        found = log.engine.fetch(_findings(log))[0]
        dropped = whole - found["rows"]
        if not found["rows"]:
            raise EmptyWindowError(f"{log.where}: every row lacks a value; nothing is left.")
    if found["outside"]:
        raise _outside(log, found)
    if log.columns.time is None:
        return log, Window(found["rows"]), dropped
    log, first, last = _with_unit(log, found["first"], found["last"])
    return log, Window(found["rows"], first=first, last=last), dropped


def _findings(log: LogTable) -> ir.Table:
    table = log.table
    low, high = log.reward_range
    reward = table[REWARD]
    sums: dict[str, ir.Value] = {"rows": table.count()}
    for name in table.columns:
        sums[f"missing_{name}"] = missing(table[name]).cast("int64").sum().coalesce(0)
    outside = ((reward < low) | (reward > high)) & ~missing(reward)
    sums["outside"] = outside.cast("int64").sum().coalesce(0)
    if TIME in table.columns:
        sums |= {"first": table[TIME].min(), "last": table[TIME].max()}
    return table.agg(**sums)


def _with_unit(log: LogTable, first: int, last: int) -> tuple[LogTable, int, int]:
    if not log.epoch_integers:
        return log, first, last
    ticks = ticks_per_second(first, last)
    if ticks is None:
        raise ColumnError(
            f"{log.where}: the times in {quoted(log.columns.time)} run from {first} to {last}, which are no seconds, "
            "milli-, micro- or nanoseconds since 1970.",
            "Turn them into timestamps first.",
        )
    scale = 1_000_000 / ticks
    return replace(log, ticks_per_second=ticks), int(first * scale), int(last * scale)


def _missing_values(log: LogTable, lacking: dict[str, int]) -> DataError:
    given = log.columns.fixed_to_given
    parts = [f"{quoted(given[name])} in {counted(rows, 'row')}" for name, rows in lacking.items()]
    example = _offenders(log, missing(log.table[next(iter(lacking))]))
    return MissingValueError(
        f"{log.where} has nulls, NaN or infinities: {', '.join(parts)} (for example {example}).",
        "Pass drop_nulls=True (--drop-nulls) to go on without those rows, or mend the log.",
    )


def _outside(log: LogTable, found: dict[str, Any]) -> DataError:
    low, high = log.reward_range
    reward = log.table[REWARD]
    example = _offenders(log, (reward < low) | (reward > high))
    return RewardRangeError(
        f"{log.where}: reward {quoted(log.columns.reward)} has {counted(found['outside'], 'value')} "
        f"outside [{low:g}, {high:g}] (for example {example}).",
        "Pass reward_range=(lowest, highest) (--reward-range LO HI) if that is its scale.",
    )


def _offenders(log: LogTable, condition: ir.BooleanValue) -> str:
    rows = log.engine.fetch(log.table.filter(condition).limit(SHOWN_OFFENDERS))
    given = log.columns.fixed_to_given
    shown = [
        ", ".join(f"{given[name]} = {quoted(value)}" for name, value in row.items() if name != TIME) for row in rows
    ]
    return "; ".join(shown)
