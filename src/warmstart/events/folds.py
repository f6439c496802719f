"""Folds of events by a hash that every engine computes alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import EVENT_ID, TIME

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.log import LogTable

DIGITS = "0123456789abcdef"
# So many hexadecimal digits of the hash decide: 16^6 values, among which folds are even to a part in 10,000.
DECIDING = 6
MOST_FOLDS = 100
LARGEST, PLACES = 1e12, 1e6


@dataclass(frozen=True)
class Folds:
    """The events of one fold out of ``of``, or of all the others."""

    of: int
    seed: int
    fold: int
    rest: bool = False

    def others(self) -> Folds:
        """Return the other folds."""
        return replace(self, rest=not self.rest)

    def includes(self, fold: int) -> bool:
        """Tell whether a fold is among these."""
        return (fold == self.fold) is not self.rest

    def overlap(self, other: Folds | None) -> bool:
        """Tell whether an event could be in both."""
        if other is None or (self.of, self.seed) != (other.of, other.seed):
            return True
        return any(self.includes(fold) and other.includes(fold) for fold in range(self.of))

    def hold(self, log: LogTable) -> ir.BooleanValue:
        """Return the condition on the whole log that an event is in these folds."""
        fold = fold_of(log, self.of, self.seed)
        return fold != self.fold if self.rest else fold == self.fold


def fold_of(log: LogTable, folds: int, seed: int) -> ir.Value:
    """Return the fold of each event as a column of the log: md5 of its id, or of context, action and time."""
    table = log.table
    keys = [EVENT_ID] if EVENT_ID in table.columns else [*log.columns.keys, *([TIME] if TIME in table.columns else [])]
    text = ibis.literal(f"{seed}")
    for key in keys:
        text = text + "|" + _written(log, table[key])
    digest = text.hexdigest("md5")
    number = ibis.literal(0, type="int64")
    for place in range(DECIDING):
        number = number * 16 + ibis.literal(DIGITS).find(digest.substr(place, 1)).cast("int64")
    return number % folds


def _written(log: LogTable, value: ir.Value) -> ir.Value:
    """Write a value the same way on every engine, which cast to text each in its own way; floats to six decimals."""
    kind = value.type()
    if kind.is_floating():
        inside = (value.abs() < LARGEST).ifelse(value, 0.0)
        return (inside * PLACES).round().cast("int64").cast("string")
    if kind.is_timestamp():
        return log.engine.epoch_microseconds(value).cast("string")
    if kind.is_boolean():
        return value.cast("int8").cast("string")
    return value.cast("string")
