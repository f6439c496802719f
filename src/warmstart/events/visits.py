"""Visits: the evaluated events with their unit, to be joined with what a policy makes of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import EVENT_WEIGHT, PROPENSITY, REWARD
from warmstart.engine import float_literal
from warmstart.events.folds import with_key_folds
from warmstart.events.strata import divided

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.events.cells import Cells
    from warmstart.events.strata import Strata

# Enough units to tell how often one comes back to a cell.
MOST_UNITS = 20_000
DRAWN = "drawn"


@dataclass(frozen=True)
class Visits:
    """The evaluated events, or their sums by unit and row: unit_0, ..., the keys of rows, ``n`` and ``reward_sum``.

    ``keys``: what identifies a row of the weighted table: context, action, and the fold and logged propensity, if any.
    ``per_row``: how many events a unit has in a cell that it has events in, weighted by these events.
    """

    table: ir.Table
    keys: tuple[str, ...]
    units: tuple[str, ...]
    per_row: float = 1.0


def unit_visits(cells: Cells, strata: Strata | None, resources: ExitStack) -> Visits:
    """Return the evaluated events with their units, where the cells are; a database sends its sums by unit and row.

    Args:
        cells: The cells of the window.
        strata: The strata of the events, if rows are divided by fold or logged propensity.
        resources: What is held in the engine is released with it.
    """
    events = cells.evaluated
    if strata is None:
        table = events.table
        keys = {name: table[name].cast(cells.table[name].type()) for name in cells.columns.keys}
    else:
        table, keys = divided(cells, strata.folds, strata.seed, strata.epoch)
        keys |= {PROPENSITY: table[PROPENSITY]} if strata.by_propensity else {}
    units = {name: table[name] for name in cells.columns.unit_keys}
    n = table[EVENT_WEIGHT] if EVENT_WEIGHT in table.columns else float_literal(1)
    rows = table.select(**units, **keys, n=n, reward_sum=n * table[REWARD])
    if events.engine.remote:
        grouped = rows.group_by(*units, *keys).agg(n=rows.n.sum(), reward_sum=rows.reward_sum.sum())
        _, rows = events.engine.collect(grouped)
        resources.callback(rows.release)
    return Visits(rows, tuple(keys), tuple(units), _events_per_row(cells, rows))


def drawn_units(engine: LocalEngine, rows: ir.Table, units: Sequence[str]) -> ir.Table:
    """Return the rows of at most about ``MOST_UNITS`` units, the same ones on every engine.

    Args:
        engine: Where the rows are.
        rows: Visits.
        units: The columns that identify a unit.
    """
    everybody = rows.select(*units).distinct()
    number = engine.fetch(everybody.agg(units=everybody.count()))[0]["units"]
    if number <= MOST_UNITS:
        return rows
    drawn = with_key_folds(everybody, engine, units, number // MOST_UNITS, name=DRAWN, salt="visits")
    return rows.semi_join(drawn.filter(drawn[DRAWN] == 0).drop(DRAWN), list(units))


def _events_per_row(cells: Cells, rows: ir.Table) -> float:
    """Return the mean over events of the events of the same unit in the same cell, from a sample of the units."""
    rows = drawn_units(cells.engine, rows, cells.columns.unit_keys)
    together = rows.group_by(*cells.columns.unit_keys, *cells.columns.keys).agg(n=rows.n.sum())
    sums = cells.engine.fetch(together.agg(n=together.n.sum(), squares=(together.n * together.n).sum()))[0]
    return float(sums["squares"]) / float(sums["n"])
