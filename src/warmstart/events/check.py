"""Check the values of a log in one pass: missing values, reward range, propensities, times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis.expr.types as ir

from warmstart.core import (
    PROPENSITY,
    REWARD,
    TIME,
    ColumnError,
    EmptyWindowError,
    MissingValueError,
    Outcome,
    PropensityRangeError,
    RewardRangeError,
    Window,
    counted,
    quoted,
    shortened,
)
from warmstart.engine import example_rows
from warmstart.events.log_table import TIME_AS_WRITTEN, LogTable, missing
from warmstart.events.numbered_times import unit_of_integers

# A time of day that ends in Z, +02:00, +0200 or +02. RE2 and Java read it alike.
ZONE_AT_THE_END = r"[0-9]:[0-9]{2}([:.][0-9.]+)? ?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)$"


def check_log(log: LogTable, *, drop_nulls: bool) -> tuple[LogTable, Window, int]:
    """Return the checked log (its unit of time known), its window, and the number of dropped rows."""
    summary = log.engine.fetch(_summary(log))[0]
    rows = summary["rows"]
    if not rows:
        raise EmptyWindowError(f"{log.where} has no rows.")
    nulls = {name: summary[f"missing_{name}"] for name in _needed(log) if summary[f"missing_{name}"]}
    if nulls:
        if not drop_nulls:
            raise _missing_values(log, nulls)
        log = log.without_missing()
        summary = log.engine.fetch(_summary(log))[0]
        if not summary["rows"]:
            raise EmptyWindowError(f"{log.where}: every row lacks a value; nothing is left.")
    dropped = rows - summary["rows"]
    for name in (*(outcome.column for outcome in log.outcomes), PROPENSITY):
        if outside := summary.get(f"{name}_outside"):
            raise _out_of_range(log, name, outside)
    log = replace(log, outcomes=tuple(_seen(log, outcome, summary) for outcome in log.outcomes))
    if summary.get("zoned") and summary.get("unzoned"):
        raise ColumnError(
            f"{log.where}: of the times in {quoted(log.columns.time)}, {summary['zoned']:,} have a zone and "
            f"{summary['unzoned']:,} have none.",
            "Write all with a zone, or none.",
        )
    window = Window(summary["rows"], first=summary.get("first"), last=summary.get("last"))
    if log.epoch_integers:
        log = unit_of_integers(log, summary["first"], summary["last"], summary["rows"])
        ends = {end: log.microseconds(summary[end]) for end in ("first", "last")}
        window = replace(window, **ends, steps=log.numbered == "step")
    return replace(log, rows=summary["rows"]), window, dropped


def _summary(log: LogTable) -> ir.Table:
    """Return one row: the number of rows, of missing and of invalid values, and the first and last time."""
    table = log.table
    sums: dict[str, ir.Value] = {"rows": table.count()}
    for name in log.columns.fixed_to_given:
        sums[f"missing_{name}"] = _count(missing(table[name]))
    outcomes = [outcome.column for outcome in log.outcomes]
    for name in (*outcomes, *([PROPENSITY] if PROPENSITY in table.columns else [])):
        sums[f"{name}_outside"] = _count(_outside(log, name) & ~missing(table[name]))
    for name in outcomes:
        known = missing(table[name]).ifelse(None, table[name])
        sums |= {f"{name}_least": known.min(), f"{name}_most": known.max()}
    if TIME_AS_WRITTEN in table.columns:
        zoned = table[TIME_AS_WRITTEN].re_search(ZONE_AT_THE_END)
        sums |= {"zoned": _count(zoned), "unzoned": _count(~zoned)}
    if TIME in table.columns:
        sums |= {"first": table[TIME].min(), "last": table[TIME].max()}
    return table.agg(**sums)


def _needed(log: LogTable) -> list[str]:
    """Return the columns that may not be missing; further outcomes may."""
    return [name for name in log.columns.fixed_to_given if name not in log.columns.also_keys]


def _seen(log: LogTable, outcome: Outcome, summary: Mapping[str, Any]) -> Outcome:
    """Return an outcome with the range of its values, and the share of events in which it is known."""
    unknown, rows = summary[f"missing_{outcome.column}"], summary["rows"]
    if unknown == rows:
        raise EmptyWindowError(f"{log.where}: the outcome {quoted(outcome.name)} is never known.", "Leave it out.")
    ends = float(summary[f"{outcome.column}_least"]), float(summary[f"{outcome.column}_most"])
    return replace(outcome, seen=ends, known=1 - unknown / rows)


def _outside(log: LogTable, name: str) -> ir.BooleanValue:
    value, outcome = log.table[name], _outcome(log, name)
    return (value <= 0) | (value > 1) if outcome is None else (value < outcome.low) | (value > outcome.high)


def _outcome(log: LogTable, name: str) -> Outcome | None:
    return next((outcome for outcome in log.outcomes if outcome.column == name), None)


def _count(condition: ir.BooleanValue) -> ir.Value:
    return condition.cast("int64").sum().coalesce(0)


def _missing_values(log: LogTable, nulls: dict[str, int]) -> MissingValueError:
    given = log.columns.fixed_to_given
    shown = given | {TIME_AS_WRITTEN: given.get(TIME, TIME)}
    example = example_rows(log.engine, log.table.filter(missing(log.table[next(iter(nulls))])), shown)
    hint = "Pass drop_nulls=True (--drop-nulls) to go on without those rows, or mend the log."
    if list(nulls) == [TIME] and TIME_AS_WRITTEN in log.table.columns:
        rows = counted(nulls[TIME], "row")
        hint = f"Write times as 2026-03-01 14:30 (ISO 8601): 'warmstart init' says how. {hint}"
        return MissingValueError(f"{log.where}: {quoted(given[TIME])} is no time in {rows} ({example}).", hint)
    parts = [f"{quoted(given[name])} in {counted(rows, 'row')}" for name, rows in nulls.items()]
    return MissingValueError(f"{log.where} has nulls, NaN or infinities: {', '.join(parts)} ({example}).", hint)


def _out_of_range(log: LogTable, name: str, rows: int) -> RewardRangeError | PropensityRangeError:
    given = log.columns.fixed_to_given
    example = example_rows(log.engine, log.table.filter(_outside(log, name)), given)
    values = f"{quoted(given[name])} has {counted(rows, 'value')} outside"
    outcome = _outcome(log, name)
    if outcome is not None:
        word, column = "reward" if name == REWARD else "outcome", outcome.name
        return RewardRangeError(
            f"{log.where}: {word} {values} [{outcome.low:g}, {outcome.high:g}] ({example}).",
            f"Pass ranges={{{column!r}: (lowest, highest)}} (--range {shortened(column)}=LO:HI) if that is its scale.",
            column,
        )
    return PropensityRangeError(
        f"{log.where}: the propensity {values} (0, 1] ({example}).",
        "It is the probability with which the logged action was chosen. Leave the column out to have it estimated.",
    )
