"""Impressions and outcomes under fixed names: keys, times and rewards cast and checked, other columns as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core import (
    MICROSECONDS_PER_DAY,
    REWARD,
    TIME,
    ColumnError,
    EmptyWindowError,
    MissingValueError,
    counted,
    no_such_column,
    quoted,
)
from warmstart.engine import describe, example_rows, open_every_column, open_source
from warmstart.events import (
    TIME_AS_WRITTEN,
    ZONE_AT_THE_END,
    as_key,
    as_number,
    as_time,
    in_microseconds,
    missing,
    ticks_per_day,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


@dataclass(frozen=True)
class InputTable:
    """Impressions or outcomes. ``given`` maps fixed names (``key_0, ..., time, reward``) to the user's.

    ``columns``: the user's names of the columns ``column_0, ...``, which are passed on. ``rows`` and ``with_nulls``
    count what was read; ``last`` is the last time, in microseconds since 1970; ``ticks_per_day``: integers a day, where
    times are integers.
    """

    engine: Engine
    table: ir.Table
    given: Mapping[str, str]
    where: str
    columns: tuple[str, ...] = ()
    rows: int = 0
    with_nulls: int = 0
    last: int = 0
    ticks_per_day: int | None = None

    @property
    def keys(self) -> list[str]:
        """Return the fixed names of the keys."""
        return [name for name in self.given if name.startswith("key_")]


def open_impressions(engine: Engine, source: Any, given: Mapping[str, str], *, drop_nulls: bool) -> InputTable:
    """Open what was shown, with all its columns, in an engine; ``given`` as ``fixed_names`` returns it."""
    where, opened = describe(source), open_every_column(engine, source)
    for name in given.values():
        if name not in opened.names:
            raise no_such_column(name, opened.names, where=where)
    if twice := next((name for name in opened.names if opened.names.count(name) > 1), None):
        raise ColumnError(f"{where} has {opened.names.count(twice)} columns called {quoted(twice)}.")
    columns = {f"column_{i}": opened.table[i] for i in range(len(opened.names))}
    used = {fixed: opened.table[opened.names.index(name)] for fixed, name in given.items()}
    table = opened.table.select(**columns, **used)
    return _checked(InputTable(engine, table, given, where, opened.names), drop_nulls=drop_nulls)


def open_outcomes(engine: Engine, source: Any, given: Mapping[str, str], *, drop_nulls: bool) -> InputTable:
    """Open what came of it: keys, time and reward; without a column of rewards, an outcome is a reward of 1."""
    table = open_source(engine, source, given, may_travel=True)
    return _checked(InputTable(engine, table, given, describe(source)), drop_nulls=drop_nulls)


def fixed_names(on: Sequence[str], time: str | None, reward: str | None = None) -> dict[str, str]:
    """Map the fixed names of the key columns, and of the times and rewards where there are any, to the user's."""
    keys = {f"key_{i}": name for i, name in enumerate(on)}
    return keys | {fixed: name for fixed, name in ((TIME, time), (REWARD, reward)) if name is not None}


def check_keys_agree(impressions: InputTable, outcomes: InputTable) -> None:
    """Refuse keys of different types, which engines would cast each in its own way."""
    for name in impressions.keys:
        one, other = (each.table[name].type().copy(nullable=True) for each in (impressions, outcomes))
        if one != other:
            here = f"{quoted(impressions.given[name])} is {one} in {impressions.where}"
            there = f"{quoted(outcomes.given[name])} is {other} in {outcomes.where}"
            raise ColumnError(f"{here}, and {there}.", "Write them with one type.")


def _checked(source: InputTable, *, drop_nulls: bool) -> InputTable:
    """Cast keys, times and rewards, count what is missing, and leave out rows with nulls or refuse them."""
    given, where, fetch = source.given, source.where, source.engine.fetch
    try:
        table = _cast(source)
    except ColumnError:
        if not fetch(source.table.agg(rows=source.table.count()))[0]["rows"]:
            raise EmptyWindowError(f"{where} has no rows.") from None
        raise
    lacks = {name: missing(table[name]) for name in given}
    counts = fetch(_counts(table, lacks))[0]
    rows, incomplete = counts["rows"], counts["incomplete"]
    if not rows:
        raise EmptyWindowError(f"{where} has no rows.")
    if incomplete and not drop_nulls:
        lacking = {name: counts[f"missing_{name}"] for name in given if counts[f"missing_{name}"]}
        parts = [f"{quoted(given[name])} in {counted(n, 'row')}" for name, n in lacking.items()]
        example = example_rows(source.engine, table.filter(lacks[next(iter(lacking))]).select(*source.keys), given)
        raise MissingValueError(
            f"{where} has nulls, NaN, infinities or times that cannot be read: {', '.join(parts)} ({example}).",
            "Pass drop_nulls=True (--drop-nulls) to go on without those rows, or mend the table.",
        )
    if incomplete == rows:
        raise EmptyWindowError(f"{where}: every row lacks a value; nothing is left.")
    complete = table.filter(*(~lack for lack in lacks.values()))
    checked = replace(source, table=complete, rows=rows, with_nulls=incomplete, last=counts["last"])
    return _with_times(checked, counts, epoch_integers=TIME in given and source.table[TIME].type().is_integer())


def _cast(source: InputTable) -> ir.Table:
    table, given, where = source.table, source.given, source.where
    cast = {name: as_key(table[name], given[name], where, what="a key") for name in source.keys}
    # Without times, all is at one moment; without rewards, an outcome is worth 1.
    no_time, one = {TIME: ibis.literal(0, "int64")}, ibis.literal(1.0, "float64")
    cast |= as_time(source.engine, table[TIME], given[TIME], where) if TIME in given else no_time
    cast[REWARD] = as_number(table[REWARD], given[REWARD], where) if REWARD in given else one
    return table.mutate(**cast)


def _counts(table: ir.Table, lacks: Mapping[str, ir.BooleanValue]) -> ir.Table:
    """Count rows, those that lack a value, and those with a time zone; find the first and the last time."""
    incomplete = ibis.or_(*lacks.values())
    time = incomplete.ifelse(ibis.null("int64"), table[TIME])
    sums = {"rows": table.count(), "incomplete": count_true(incomplete), "first": time.min(), "last": time.max()}
    sums |= {f"missing_{name}": count_true(lack) for name, lack in lacks.items()}
    if TIME_AS_WRITTEN in table.columns:
        zoned = table[TIME_AS_WRITTEN].re_search(ZONE_AT_THE_END)
        sums |= {"zoned": count_true(zoned & ~incomplete), "unzoned": count_true(~zoned & ~incomplete)}
    return table.agg(**sums)


def _with_times(source: InputTable, counts: Mapping[str, Any], *, epoch_integers: bool) -> InputTable:
    """Refuse times of which only some have a zone; return epoch integers as microseconds."""
    if (zoned := counts.get("zoned")) and (unzoned := counts.get("unzoned")):
        what = f"of the times in {quoted(source.given[TIME])}, {zoned:,} have a zone and {unzoned:,} have none"
        raise ColumnError(f"{source.where}: {what}.", "Write all with a zone, or none.")
    if not epoch_integers:
        return source
    first, last = counts["first"], counts["last"]
    ticks = ticks_per_day(first, last)
    if ticks is None:
        what = f"the times in {quoted(source.given[TIME])} run from {first} to {last}"
        why = "which are no seconds, milli-, micro- or nanoseconds since 1970"
        raise ColumnError(f"{source.where}: {what}, {why}.", "Turn them into timestamps first.")
    table = source.table.mutate(**{TIME: in_microseconds(source.table[TIME], ticks)})
    return replace(source, table=table, last=last * MICROSECONDS_PER_DAY // ticks, ticks_per_day=ticks)


def count_true(condition: ir.BooleanValue) -> ir.Value:
    """Return the number of rows where a condition holds."""
    return condition.cast("int64").sum().coalesce(0)
