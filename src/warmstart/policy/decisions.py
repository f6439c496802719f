"""Somebody's decisions, from a file or a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from warmstart.core import ACTION, PROBABILITY, ColumnError, Columns, DecisionError, UsageError, quoted
from warmstart.engine import describe, example_rows, float_literal, has_decimal_commas, is_csv, open_source
from warmstart.events import Cells
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.unknown import check_actions

SUM_TOLERANCE = 1e-6


def decided_policy(
    cells: Cells, source: Any, *, name: str, where: str | None = None, allow_unknown: bool = False
) -> PolicyTable:
    """Read decisions (the log's context columns, its action column[, probability]) as a policy.

    Without a probability column each context has one action, chosen with probability 1. Probabilities of a context
    may sum to less than 1: the rest is undecided, as is a row without an action. A row may be there several times, as
    in a table of events. Values of a CSV file are read as the log's types.

    Args:
        cells: The cells of the windows.
        source: The table.
        name: Of the policy.
        where: What messages call the table.
        allow_unknown: Whether it may name actions that no window of the log shows; they are refused otherwise.
    """
    unnamed = not isinstance(source, str | Path | list | tuple)
    columns = cells.columns
    where = where or (f"{describe(source)} of the policy {quoted(name)}" if unnamed else describe(source))
    given = {fixed: columns.fixed_to_given[fixed] for fixed in columns.keys}
    if PROBABILITY in given.values():
        raise UsageError(
            "A context or action column called 'probability' cannot be told from the decisions' own.", "Rename it."
        )
    opened = open_source(
        cells.engine,
        source,
        given | {PROBABILITY: PROBABILITY},
        optional=[PROBABILITY],
        as_text=True,
        may_travel=True,
        where=where,
    )
    rows, opened = opened, opened.filter(opened[ACTION].notnull())
    csv = is_csv(source)
    commas = csv and has_decimal_commas(source)
    keys = {}
    for fixed, column in given.items():
        wanted, own = cells.table[fixed].type(), opened[fixed]
        keys[fixed] = _of_text(own, wanted, commas=commas) if csv else _like_the_log(own, wanted, column, where)
    has_probability = PROBABILITY in opened.columns
    if has_probability and not (csv or opened[PROBABILITY].type().is_numeric()):
        raise ColumnError(f"{where}: probability has type {opened[PROBABILITY].type()}.", "Probabilities are numbers.")
    probability = _of_text(opened[PROBABILITY], dt.float64, commas=commas) if has_probability else float_literal(1)
    table = opened.select(**keys, **{PROBABILITY: probability})
    if not cells.engine.fetch(rows.limit(1)):
        raise DecisionError(f"{where} has no decisions.")
    repeated = _check(cells, table, where, has_probability=has_probability)
    table = table.distinct() if repeated else table
    if not allow_unknown:
        check_actions(cells, table, where)
    return PolicyTable(name, table, whole=not has_probability)


def _of_text(column: ir.Value, wanted: dt.DataType, *, commas: bool) -> ir.Value:
    """Cast what a CSV file holds; what cannot be of the type becomes null, which is refused."""
    if commas and wanted.is_floating() and column.type().is_string():
        column = column.replace(",", ".")
    return column.try_cast(wanted)


def _like_the_log(column: ir.Value, wanted: dt.DataType, given: str, where: str) -> ir.Value:
    """Cast a key to the log's type; a value that cannot be one becomes null, which is refused."""
    kind = column.type()
    if kind == wanted:
        return column
    if kind.is_floating() and wanted.is_integer():
        return (column == column.floor()).ifelse(column.cast(wanted), None)
    texts = (kind.is_string() or kind.is_uuid()) and wanted.is_string()
    if texts or (kind.is_numeric() and wanted.is_numeric()) or (kind.is_timestamp() and wanted.is_timestamp()):
        return column.cast(wanted)
    raise ColumnError(
        f"{where}: {quoted(given)} has type {kind}, and {wanted} in the log; they cannot match.",
        "Write the decisions with the log's type.",
    )


def _check(cells: Cells, table: ir.Table, where: str, *, has_probability: bool) -> bool:
    """Look at all decisions in one query, and for the rows at fault only where there are some.

    Returns whether some rows are there several times, all alike.
    """
    columns, probability = cells.columns, table[PROBABILITY]
    absent = ibis.or_(*(table[key].isnull() for key in columns.keys))
    improper = probability.isnull() | probability.isnan() | (probability < 0) | (probability > 1 + SUM_TOLERANCE)
    improper = improper.fill_null(True)
    repeats = table.group_by(*columns.keys).agg(low=probability.min(), high=probability.max())
    distinct = table.distinct()
    sums = distinct.group_by(*columns.context_keys).agg(
        total=distinct[PROBABILITY].sum(), **{ACTION: distinct[ACTION].min(), "also": distinct[ACTION].max()}
    )
    crowds = sums.filter(sums.total > 1 + SUM_TOLERANCE)
    if has_probability:
        crowds, crowded, twice = (
            crowds.drop(ACTION, "also"),
            f"{where}: the probabilities of a context sum to more than 1",
            "",
        )
    else:
        crowds = crowds.drop("total")
        crowded = f"{where} decides a context twice, without probabilities, for different actions"
        twice = (
            "Keep one row per context; add a column 'probability' if the policy chooses at random. If rows are events "
            "of the log, add the choices to the log as a column, and pass 'column:NAME' as the policy."
        )
    kinds = ", ".join(f"{columns.fixed_to_given[key]} {cells.table[key].type()}" for key in columns.keys)
    faults = {
        "absent": (
            table.filter(absent),
            f"{where} has rows without a context or an action of the log's type",
            f"The log has {kinds}.",
        ),
        "improper": (
            table.filter(improper),
            f"{where} has a probability outside [0, 1]",
            "Write it like 0.25; None stands for what is no number.",
        ),
        "differing": (
            repeats.filter(repeats.low < repeats.high).drop("low", "high"),
            f"{where} decides the same context and action twice, with different probabilities",
            "Keep one row of each context and action.",
        ),
        "crowded": (crowds, crowded, twice),
    }
    counts = cells.engine.fetch(_faults(table.mutate(absent=absent, improper=improper), columns))[0]
    for fault, (rows, message, hint) in faults.items():
        if counts[fault]:
            raise DecisionError(f"{message} ({example_rows(cells.engine, rows, columns.fixed_to_given)}).", hint)
    return bool(counts["repeated"])


def _faults(table: ir.Table, columns: Columns) -> ir.Table:
    """Count the decisions and what is wrong with them; ``crowded`` only means something if nothing is improper."""
    marks = {name: table[name].cast("int64").sum() for name in ("absent", "improper")}
    low, high = table[PROBABILITY].min(), table[PROBABILITY].max()
    pairs = table.group_by(*columns.keys).agg(rows=table.count(), **marks, low=low, high=high)
    counts = {name: pairs[name].sum() for name in marks}
    counts["repeated"] = (pairs.rows > 1).cast("int64").sum()
    counts["differing"] = (pairs.low < pairs.high).cast("int64").sum()
    contexts = pairs.group_by(*columns.context_keys).agg(**counts, total=pairs.high.sum())
    crowded = (contexts.total > 1 + SUM_TOLERANCE).cast("int64").sum()
    return contexts.agg(**{name: contexts[name].sum() for name in counts}, crowded=crowded)
