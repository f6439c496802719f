"""Folds of events by a hash that every engine computes alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.names import EVENT_ID, REWARD, TIME

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.log_table import LogTable

DIGITS = "0123456789abcdef"
# So many hexadecimal digits of the hash decide: 16^6 values, among which folds are even to a part in 10,000.
DECIDING = 6
MOST_FOLDS = 100
FOLD_OF_SPLIT = "fold_of_split"
LARGEST, PLACES, LARGEST_WHOLE = 1e12, 1e6, 9e18


@ibis.udf.scalar.builtin(name="md5", signature=((ibis.dtype("string"),), ibis.dtype("string")))  # type: ignore[untyped-decorator]
def _md5(text: Any) -> Any:
    """Name the function that engines have in common: Ibis knows it for some of them only."""


@dataclass(frozen=True)
class Folds:
    """The events of one fold out of ``of``, or of all the others; ``keys``: the columns that the fold is a hash of."""

    of: int
    seed: int
    fold: int
    keys: tuple[str, ...]
    rest: bool = False

    def others(self) -> Folds:
        """Return the other folds."""
        return replace(self, rest=not self.rest)

    def includes(self, fold: int) -> bool:
        """Tell whether a fold is among these."""
        return (fold == self.fold) is not self.rest

    def overlap(self, other: Folds | None) -> bool:
        """Tell whether an event could be in both."""
        if other is None or (self.of, self.seed, self.keys) != (other.of, other.seed, other.keys):
            return True
        return any(self.includes(fold) and other.includes(fold) for fold in range(self.of))

    def marked(self, log: LogTable) -> LogTable:
        """Return the log with the fold of every event in a column."""
        return replace(log, table=with_folds(log, self.of, self.seed, name=FOLD_OF_SPLIT))

    def hold(self, log: LogTable) -> ir.BooleanValue:
        """Return the condition on a log that was marked that an event is in these folds."""
        fold = log.table[FOLD_OF_SPLIT]
        return fold != self.fold if self.rest else fold == self.fold


def hashed_columns(log: LogTable) -> list[str]:
    """Return the columns that tell events apart: the id, or else context, action and time."""
    columns = log.table.columns
    return [EVENT_ID] if EVENT_ID in columns else [*log.columns.keys, *([TIME] if TIME in columns else [])]


def with_folds(log: LogTable, folds: int, seed: int, *, name: str, salt: str = "") -> ir.Table:
    """Return the log's table with the fold of each event: md5 of its id, or of context, action and time.

    Without an id, events that are alike in all these are numbered (in the order of their rewards, so that every engine
    numbers them alike): else all events of a cell would fall into one fold. ``salt`` gives folds of another kind.
    """
    table, keys = log.table, hashed_columns(log)
    own = [column for column in table.columns if column != name]
    if keys != [EVENT_ID]:
        alike = ibis.window(group_by=keys, order_by=REWARD)
        table = table.mutate(alike=ibis.row_number().over(alike))
    text = ibis.literal(f"{salt}{seed}")
    for key in keys:
        text = text + "|" + _written(log, table[key])
    if "alike" in table.columns:
        text = text + "|" + table.alike.cast("string")
    table = table.mutate(digest=_md5(text))
    number = ibis.literal(0, type="int64")
    for place in range(DECIDING):
        number = number * 16 + ibis.literal(DIGITS).find(table.digest.substr(place, 1)).cast("int64")
    return table.select(*own, **{name: number % folds})


def _written(log: LogTable, value: ir.Value) -> ir.Value:
    """Write a value the same way on every engine, which cast to text each in its own way; floats to six decimals."""
    kind = value.type()
    if kind.is_floating():
        small, whole = value.abs() < LARGEST, value.abs() < LARGEST_WHOLE
        fine = (small.ifelse(value, 0.0) * PLACES).round().cast("int64")
        return fine.cast("string") + (~small & whole).ifelse(value, 0.0).cast("int64").cast("string")
    if kind.is_timestamp():
        return log.engine.epoch_microseconds(value).cast("string")
    if kind.is_boolean():
        return value.cast("int8").cast("string")
    return value.cast("string")
