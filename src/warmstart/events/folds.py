"""Random folds of events for cross-validation, by a hash that every engine computes alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import ibis.expr.types as ir

from warmstart.core import EVENT_ID, REWARD, TIME
from warmstart.engine import Engine
from warmstart.events.log_table import LogTable

# Hexadecimal digits of the hash in use: 16^6 values, so that folds are even to a part in 10,000.
HASH_DIGITS = 6
MOST_FOLDS = 100
FOLD_OF_SPLIT = "fold_of_split"
LARGEST, PLACES, LARGEST_WHOLE = 1e12, 1e6, 9e18


@ibis.udf.scalar.builtin(name="md5", signature=((ibis.dtype("string"),), ibis.dtype("string")))  # type: ignore[untyped-decorator]
def _md5(text: Any) -> Any:
    """Declare a function that all engines have to Ibis, which knows it for some of them only."""


@dataclass(frozen=True)
class Folds:
    """The events of one fold out of ``of``, or of all the others (``rest``); ``keys``: the columns that are hashed."""

    of: int
    seed: int
    fold: int
    keys: tuple[str, ...]
    rest: bool = False

    def includes(self, fold: int) -> bool:
        """Return whether a fold is among these."""
        return (fold == self.fold) is not self.rest

    def overlap(self, other: Folds | None) -> bool:
        """Return whether an event could be in both."""
        if other is None or (self.of, self.seed, self.keys) != (other.of, other.seed, other.keys):
            return True
        return any(self.includes(fold) and other.includes(fold) for fold in range(self.of))

    def marked(self, log: LogTable) -> LogTable:
        """Return the log with the fold of every event in a column."""
        return replace(log, table=with_folds(log, self.of, self.seed, name=FOLD_OF_SPLIT))

    def hold(self, log: LogTable) -> ir.BooleanValue:
        """Return the condition, on a marked log, that an event is in these folds."""
        fold = log.table[FOLD_OF_SPLIT]
        return fold != self.fold if self.rest else fold == self.fold


def hashed_columns(log: LogTable) -> list[str]:
    """Return the columns that are hashed: the unit, so that none straddles folds; else what identifies events.

    That is the id, or else context, action and time.
    """
    columns = log.table.columns
    if log.columns.unit:
        return list(log.columns.unit_keys)
    return [EVENT_ID] if EVENT_ID in columns else [*log.columns.keys, *([TIME] if TIME in columns else [])]


def with_folds(log: LogTable, folds: int, seed: int, *, name: str, salt: str = "") -> ir.Table:
    """Return the log's table with the fold of each event: the MD5 of its unit, its id, or context, action and time.

    Without a unit or an id, events with equal keys are numbered by reward, the same on every engine: else all events of
    a cell would fall into one fold.

    Args:
        log: The log.
        folds: The number of folds.
        seed: Hashed too: other seeds, other folds.
        name: The column to add, or to replace.
        salt: Hashed too: folds for another purpose.
    """
    table, keys = log.table, hashed_columns(log)
    others = [column for column in table.columns if column != name]
    if not log.columns.unit and keys != [EVENT_ID]:
        equal_keys = ibis.window(group_by=keys, order_by=REWARD)
        table, keys = table.mutate(copy_number=ibis.row_number().over(equal_keys)), [*keys, "copy_number"]
    hashed = with_key_folds(table, log.engine, keys, folds, name=name, salt=f"{salt}{seed}")
    return hashed.select(*others, name)


def with_key_folds(
    table: ir.Table, engine: Engine, keys: Sequence[str], folds: int, *, name: str, salt: str
) -> ir.Table:
    """Return a table with the fold of each row: the MD5 of some of its columns, the same on every engine.

    Args:
        table: The rows.
        engine: Where they are.
        keys: The columns that are hashed.
        folds: The number of folds.
        name: The column to add, or to replace.
        salt: Hashed too.
    """
    others = [column for column in table.columns if column != name]
    text = ibis.literal(salt)
    for key in keys:
        text = text + "|" + _as_text(engine, table[key])
    table = table.mutate(digest=_md5(text))
    number = ibis.literal(0, type="int64")
    for place in range(HASH_DIGITS):
        number = number * 16 + ibis.literal("0123456789abcdef").find(table.digest.substr(place, 1)).cast("int64")
    return table.select(*others, **{name: number % folds})


def _as_text(engine: Engine, value: ir.Value) -> ir.Value:
    """Return a value as text that is the same on every engine; floats to six decimals."""
    kind = value.type()
    if kind.is_floating():
        small, whole = value.abs() < LARGEST, value.abs() < LARGEST_WHOLE
        fine = (small.ifelse(value, 0.0) * PLACES).round().cast("int64")
        return fine.cast("string") + (~small & whole).ifelse(value, 0.0).cast("int64").cast("string")
    if kind.is_timestamp():
        return engine.epoch_microseconds(value).cast("string")
    if kind.is_boolean():
        return value.cast("int8").cast("string")
    return value.cast("string")
