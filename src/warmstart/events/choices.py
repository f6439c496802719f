"""Windows whose context has more columns: what another model would have chosen at each event, or segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import ACTION, UsageError, quoted
from warmstart.events.epoch_windows import in_first_epochs
from warmstart.events.log_table import FURTHER, LogTable, missing, raw_log, settled
from warmstart.events.window import Events, per_unit

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

# The key of events for which the other model has no choice.
NO_CHOICE = "(no choice)"
# The key of events without a value of a segment's column.
NO_VALUE = "(none)"


def with_choices(evaluated: Events, train: Events | None, column: str) -> tuple[Events, Events | None]:
    """Return windows of the same events, with the text of a column of the log as a further context column.

    The log is opened again, since it was read without that column.
    """
    action = evaluated.log.table[ACTION].type()
    return _windows(evaluated, train, [column], lambda choice: _as_text(choice, action))


def with_context(evaluated: Events, train: Events | None, names: Sequence[str]) -> tuple[Events, Events | None]:
    """Return windows of the same events, with columns of the log, as text, in the context too."""
    return _windows(evaluated, train, names, lambda value: missing(value).ifelse(NO_VALUE, value.cast("string")))


def _windows(
    evaluated: Events, train: Events | None, names: Sequence[str], as_text: Callable[[ir.Value], ir.Value]
) -> tuple[Events, Events | None]:
    log = _extended(evaluated, names, as_text)
    weighed = evaluated.units is not None
    own = replace(evaluated, log=log, units=None)
    if train is None:
        return per_unit(own, None) if weighed else (own, None)
    earlier = log if train.log is evaluated.log else _extended(train, names, as_text)
    both = own, replace(train, log=earlier, units=None)
    return per_unit(*both) if weighed else both


def _extended(events: Events, names: Sequence[str], as_text: Callable[[ir.Value], ir.Value]) -> LogTable:
    """Open a log again with further columns in its context, as text."""
    log, columns = events.log, events.columns
    if hasattr(log.origin, "read_all"):
        raise UsageError(
            f"{', '.join(map(quoted, names))}: the log would have to be read again, and can be read but once.",
            "Read it from a table or a file.",
        )
    raw = raw_log(log.engine, log.origin, columns, further=names)
    raw = raw.without_missing() if log.complete_rows_only else raw
    log = settled(replace(log, table=raw.table))
    log = in_first_epochs(log) if log.first_epochs else log
    # Before the columns join the context: the same events are in the same folds.
    log = log if events.folds is None else events.folds.marked(log)
    table, extended = log.table, replace(columns, context=(*columns.context, *names))
    further = [f"{FURTHER}{i}" for i in range(len(names))]
    keys = dict(zip(extended.context_keys[-len(names) :], (as_text(table[name]) for name in further), strict=True))
    return replace(log, columns=extended, table=table.mutate(**keys).drop(*further))


def _as_text(choice: ir.Value, action: dt.DataType) -> ir.Value:
    """Return choices as text; whole numbers as the log writes them, though nulls made them floats."""
    text = choice.cast("string")
    if choice.type().is_floating() and action.is_integer():
        whole = (choice == choice.floor()).fill_null(False)
        text = whole.ifelse(whole.ifelse(choice, 0.0).cast("int64").cast("string"), text)
    return missing(choice).ifelse(NO_CHOICE, text)
