"""Windows whose context has one column more: what another model would have chosen at each event."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import ACTION, UsageError, quoted
from warmstart.events.epoch_windows import in_first_epochs
from warmstart.events.log_table import SHADOW, LogTable, missing, raw_log, settled
from warmstart.events.window import Events, per_unit

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

# The key of events for which the other model has no choice.
NO_CHOICE = "(no choice)"


def with_choices(evaluated: Events, train: Events | None, column: str) -> tuple[Events, Events | None]:
    """Return windows of the same events, with the text of a column of the log as a further context column.

    The log is opened again, since it was read without that column.
    """
    log = _with_choices(evaluated, column)
    weighed = evaluated.units is not None
    own = replace(evaluated, log=log, units=None)
    if train is None:
        return per_unit(own, None) if weighed else (own, None)
    earlier = replace(train, log=log if train.log is evaluated.log else _with_choices(train, column), units=None)
    return per_unit(own, earlier) if weighed else (own, earlier)


def _with_choices(events: Events, column: str) -> LogTable:
    log, columns = events.log, events.columns
    if hasattr(log.origin, "read_all"):
        raise UsageError(
            f"The choices in {quoted(column)} take a second reading of the log, which can be read but once.",
            "Read the log from a table or a file.",
        )
    raw = raw_log(log.engine, log.origin, columns, shadow=column)
    raw = raw.without_missing() if log.complete_rows_only else raw
    log = settled(replace(log, table=raw.table))
    log = in_first_epochs(log) if log.first_epochs else log
    # Before the column joins the context: the same events are in the same folds.
    log = log if events.folds is None else events.folds.marked(log)
    table, extended = log.table, replace(columns, context=(*columns.context, column))
    key = {extended.context_keys[-1]: _as_text(table[SHADOW], table[ACTION].type())}
    return replace(log, columns=extended, table=table.mutate(**key).drop(SHADOW))


def _as_text(choice: ir.Value, action: dt.DataType) -> ir.Value:
    """Return choices as text; whole numbers as the log writes them, though nulls made them floats."""
    text = choice.cast("string")
    if choice.type().is_floating() and action.is_integer():
        whole = (choice == choice.floor()).fill_null(False)
        text = whole.ifelse(whole.ifelse(choice, 0.0).cast("int64").cast("string"), text)
    return missing(choice).ifelse(NO_CHOICE, text)
