"""The two tables under fixed names: keys, times and rewards cast and checked, other columns as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.errors import ColumnError, DataError, EmptyWindowError, MissingValueError, no_such_column
from warmstart.core.names import REWARD, TIME
from warmstart.core.text import counted, quoted
from warmstart.engine import example_rows, open_source
from warmstart.engine.sources import describe, open_every_column
from warmstart.events.check import ZONE_AT_THE_END
from warmstart.events.log_table import (
    TIME_AS_WRITTEN,
    as_key,
    as_number,
    as_time,
    in_microseconds,
    missing,
    ticks_per_second,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


@dataclass(frozen=True)
class Side:
    """One of the two tables. ``given`` maps fixed names (``key_0, ..., time, reward``) to the user's.

    ``kept``: the user's names of the columns ``column_0, ...``, which are passed on. ``rows`` and ``with_nulls`` are
    counts of what was read; ``last`` is the last time, in microseconds, and ``ticks`` the unit of integers.
    """

    engine: Engine
    table: ir.Table
    given: Mapping[str, str]
    where: str
    kept: tuple[str, ...] = ()
    rows: int = 0
    with_nulls: int = 0
    last: int = 0
    ticks: int | None = None

    @property
    def keys(self) -> list[str]:
        """Return the fixed names of the keys."""
        return [name for name in self.given if name.startswith("key_")]


def open_impressions(engine: Engine, source: Any, on: Sequence[str], time: str | None, *, drop_nulls: bool) -> Side:
    """Open what was shown, with all its columns."""
    where, opened = describe(source), open_every_column(engine, source)
    given = _given(on, time, None)
    for name in given.values():
        if name not in opened.names:
            raise no_such_column(name, opened.names, where=where)
    if twice := next((name for name in opened.names if opened.names.count(name) > 1), None):
        raise ColumnError(f"{where} has {opened.names.count(twice)} columns called {quoted(twice)}.")
    kept = {f"column_{i}": opened.table[i] for i in range(len(opened.names))}
    used = {fixed: opened.table[opened.names.index(name)] for fixed, name in given.items()}
    table = opened.table.select(**kept, **used)
    return _checked(engine, table, given, where, kept=opened.names, drop_nulls=drop_nulls)


def open_outcomes(
    engine: Engine, source: Any, on: Sequence[str], time: str | None, reward: str | None, *, drop_nulls: bool
) -> Side:
    """Open what came of it: keys, time and reward; without a column of rewards, an outcome is a reward of 1."""
    given = _given(on, time, reward)
    table = open_source(engine, source, given, may_travel=True)
    return _checked(engine, table, given, describe(source), kept=(), drop_nulls=drop_nulls)


def check_keys_agree(impressions: Side, outcomes: Side) -> None:
    """Refuse keys of different types, of which engines would make what they like."""
    for name in impressions.keys:
        one, other = (side.table[name].type().copy(nullable=True) for side in (impressions, outcomes))
        if one != other:
            raise ColumnError(
                f"{quoted(impressions.given[name])} is {one} in {impressions.where}, and "
                f"{quoted(outcomes.given[name])} is {other} in {outcomes.where}.",
                "Write them with one type.",
            )


def _given(on: Sequence[str], time: str | None, reward: str | None) -> dict[str, str]:
    keys = {f"key_{i}": name for i, name in enumerate(on)}
    return keys | {fixed: name for fixed, name in ((TIME, time), (REWARD, reward)) if name is not None}


def _checked(
    engine: Engine, table: ir.Table, given: Mapping[str, str], where: str, *, kept: Sequence[str], drop_nulls: bool
) -> Side:
    try:
        side = Side(engine, _cast(engine, table, given, where), given, where, tuple(kept))
    except ColumnError:
        if not engine.fetch(table.agg(rows=table.count()))[0]["rows"]:
            raise EmptyWindowError(f"{where} has no rows.") from None
        raise
    found = engine.fetch(_findings(side))[0]
    if not found["rows"]:
        raise EmptyWindowError(f"{where} has no rows.")
    if found["lacking"] and not drop_nulls:
        raise _missing_values(side, found)
    if found["lacking"] == found["rows"]:
        raise EmptyWindowError(f"{where}: every row lacks a value; nothing is left.")
    complete = [~missing(side.table[name]) for name in given]
    side = replace(side, table=side.table.filter(*complete), rows=found["rows"], with_nulls=found["lacking"])
    return _with_times(side, found, epoch_integers=TIME in given and table[TIME].type().is_integer())


def _cast(engine: Engine, table: ir.Table, given: Mapping[str, str], where: str) -> ir.Table:
    cast: dict[str, ir.Value] = {}
    for fixed, name in given.items():
        if fixed == TIME:
            cast |= as_time(engine, table[TIME], name, where)
        elif fixed == REWARD:
            cast[REWARD] = as_number(table[REWARD], name, where)
        else:
            cast[fixed] = as_key(table[fixed], name, where, what="a key")
    # Without times, all is at one moment; without rewards, an outcome is worth 1.
    cast.setdefault(TIME, ibis.literal(0, "int64"))
    cast.setdefault(REWARD, ibis.literal(1.0, "float64"))
    return table.mutate(**cast)


def _findings(side: Side) -> ir.Table:
    table = side.table
    lacks = {name: missing(table[name]) for name in side.given}
    some = ibis.literal(False)
    for lack in lacks.values():
        some |= lack
    sums = {"rows": table.count(), "lacking": _count(some)}
    sums |= {f"missing_{name}": _count(lack) for name, lack in lacks.items()}
    whole = some.ifelse(ibis.null("int64"), table[TIME])
    sums |= {"first": whole.min(), "last": whole.max()}
    if TIME_AS_WRITTEN in table.columns:
        zoned = table[TIME_AS_WRITTEN].re_search(ZONE_AT_THE_END)
        sums |= {"zoned": _count(zoned & ~some), "unzoned": _count(~zoned & ~some)}
    return table.agg(**sums)


def _count(condition: ir.BooleanValue) -> ir.Value:
    return condition.cast("int64").sum().coalesce(0)


def _with_times(side: Side, found: Mapping[str, Any], *, epoch_integers: bool) -> Side:
    if found.get("zoned") and found.get("unzoned"):
        raise ColumnError(
            f"{side.where}: of the times in {quoted(side.given[TIME])}, {found['zoned']:,} have a zone and "
            f"{found['unzoned']:,} have none.",
            "Write all with a zone, or none.",
        )
    if not epoch_integers:
        return replace(side, last=found["last"])
    ticks = ticks_per_second(found["first"], found["last"])
    if ticks is None:
        raise ColumnError(
            f"{side.where}: the times in {quoted(side.given[TIME])} run from {found['first']} to {found['last']}, "
            "which are no seconds, milli-, micro- or nanoseconds since 1970.",
            "Turn them into timestamps first.",
        )
    table = side.table.mutate(**{TIME: in_microseconds(side.table[TIME], ticks)})
    return replace(side, table=table, last=found["last"] * 1_000_000 // ticks, ticks=ticks)


def _missing_values(side: Side, found: Mapping[str, Any]) -> DataError:
    lacking = {name: found[f"missing_{name}"] for name in side.given if found[f"missing_{name}"]}
    rows = side.table.filter(missing(side.table[next(iter(lacking))])).select(*side.keys)
    parts = [f"{quoted(side.given[name])} in {counted(n, 'row')}" for name, n in lacking.items()]
    return MissingValueError(
        f"{side.where} has nulls, NaN, infinities or times that cannot be read: {', '.join(parts)} "
        f"({example_rows(side.engine, rows, side.given)}).",
        "Pass drop_nulls=True (--drop-nulls) to go on without those rows, or mend the table.",
    )
