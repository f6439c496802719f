"""Somebody's decisions, from a file or a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.errors import ColumnError, DecisionError
from warmstart.core.names import PROBABILITY
from warmstart.core.text import counted, quoted
from warmstart.engine import float_literal, open_source
from warmstart.engine.sources import describe
from warmstart.policy.policy import Policy

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

    from warmstart.events import Cells

SUM_TOLERANCE = 1e-6
SHOWN_OFFENDERS = 3


def decided_policy(cells: Cells, source: Any, *, name: str) -> Policy:
    """Read decisions (the log's context columns, its action column[, probability]) as a policy.

    Without a probability column each context has one action, chosen with probability 1. Probabilities of a context
    may sum to less than 1: the rest is undecided.
    """
    columns, where = cells.columns, describe(source)
    given = {fixed: columns.fixed_to_given[fixed] for fixed in columns.keys} | {PROBABILITY: PROBABILITY}
    table = open_source(cells.engine, source, given, optional=[PROBABILITY])
    keys = {
        fixed: _like_the_log(table[fixed], cells.table[fixed].type(), given[fixed], where) for fixed in columns.keys
    }
    has_probability = PROBABILITY in table.columns
    if has_probability and not table[PROBABILITY].type().is_numeric():
        raise ColumnError(f"{where}: probability has type {table[PROBABILITY].type()}.", "Probabilities are numbers.")
    probability = table[PROBABILITY].cast("float64") if has_probability else float_literal(1)
    policy = Policy(name, table.select(**keys, **{PROBABILITY: probability}))
    _check(cells, policy, where, has_probability=has_probability)
    return policy


def _like_the_log(column: ir.Value, wanted: dt.DataType, given: str, where: str) -> ir.Value:
    kind = column.type()
    if kind == wanted:
        return column
    if kind.is_uuid() and wanted.is_string():
        return column.cast("string")
    comparable = (kind.is_numeric() and wanted.is_numeric()) or (kind.is_string() and wanted.is_string())
    if comparable or (kind.is_timestamp() and wanted.is_timestamp()):
        return column.cast(wanted)
    raise ColumnError(
        f"{where}: {quoted(given)} has type {kind}, and {wanted} in the log; they cannot match.",
        "Write the decisions with the log's type.",
    )


def _check(cells: Cells, policy: Policy, where: str, *, has_probability: bool) -> None:
    columns, table = cells.columns, policy.table
    probability = table[PROBABILITY]
    absent = ibis.literal(False)
    for key in columns.keys:
        absent = absent | table[key].isnull()
    improper = probability.isnull() | probability.isnan() | (probability < 0) | (probability > 1 + SUM_TOLERANCE)
    findings = cells.engine.fetch(
        table.agg(rows=table.count(), absent=_count(absent), improper=_count(improper.fill_null(True)))
    )[0]
    if not findings["rows"]:
        raise DecisionError(f"{where} has no decisions.")
    if findings["absent"]:
        raise DecisionError(f"{where} has {counted(findings['absent'], 'row')} without a context or an action.")
    if findings["improper"]:
        offenders = _shown(cells, table.filter(improper.fill_null(True)))
        rows = counted(findings["improper"], "row")
        raise DecisionError(f"{where} has {rows} with a probability outside [0, 1] ({offenders}).")
    _check_contexts(cells, table, where, has_probability=has_probability)


def _check_contexts(cells: Cells, table: ir.Table, where: str, *, has_probability: bool) -> None:
    columns = cells.columns
    repeats = table.group_by(*columns.keys).agg(rows=table.count())
    _refuse(cells, repeats.filter(repeats.rows > 1), f"{where} decides the same context and action twice")
    sums = table.group_by(*columns.context_keys).agg(total=table[PROBABILITY].sum())
    crowded = sums.filter(sums.total > 1 + SUM_TOLERANCE)
    if has_probability:
        _refuse(cells, crowded, f"{where}: the probabilities of a context sum to more than 1")
    else:
        hint = "Add a column 'probability' if that is meant."
        _refuse(cells, crowded, f"{where} decides a context twice, without probabilities", hint)


def _refuse(cells: Cells, offenders: ir.Table, message: str, hint: str = "") -> None:
    if shown := _shown(cells, offenders):
        raise DecisionError(f"{message} ({shown}).", hint)


def _shown(cells: Cells, rows: ir.Table) -> str:
    given = cells.columns.fixed_to_given
    found = cells.engine.fetch(rows.limit(SHOWN_OFFENDERS))
    return "; ".join(
        "for example " * (i == 0) + ", ".join(f"{given.get(k, k)} = {quoted(v)}" for k, v in row.items())
        for i, row in enumerate(found)
    )


def _count(condition: ir.Value) -> ir.Value:
    return condition.cast("int64").sum().coalesce(0)
