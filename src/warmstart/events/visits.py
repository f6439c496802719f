"""Visits: the evaluated events with their unit, to be joined with what a policy makes of their cells."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import PROPENSITY, REWARD
from warmstart.events.folds import with_key_folds
from warmstart.events.strata import divided
from warmstart.events.window import event_weight

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.cells import Cells
    from warmstart.events.strata import Strata

# Enough units to tell how often one comes back to a cell.
MOST_UNITS = 20_000
DRAWN = "drawn"
# Over events: what they count, that times their reward, and its square.
SUMS = ("n", "reward_sum", "n_squared")


@dataclass(frozen=True)
class Visits:
    """The evaluated events, or their sums by unit and row: unit_0, ..., the keys of rows, n, reward_sum, n_squared.

    ``keys``: what identifies a row of the weighted table: context, action, and the fold and logged propensity, if any.
    ``number``: how many units there are; ``per_row``: how many events a unit has in a cell that it has events in,
    weighted by these events.
    """

    table: ir.Table
    keys: tuple[str, ...]
    units: tuple[str, ...]
    number: int
    per_row: float


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
    n = event_weight(table)
    rows = table.select(**units, **keys, n=n, reward_sum=n * table[REWARD], n_squared=n * n)
    if events.engine.remote:
        grouped = rows.group_by(*units, *keys).agg(**{name: rows[name].sum() for name in SUMS})
        _, rows = events.engine.collect(grouped)
        resources.callback(rows.release)
    everybody = rows.select(*units).distinct()
    number = int(cells.engine.fetch(everybody.agg(units=everybody.count()))[0]["units"])
    return Visits(rows, tuple(keys), tuple(units), number, _events_per_row(cells, rows, everybody, number))


def _events_per_row(cells: Cells, rows: ir.Table, everybody: ir.Table, number: int) -> float:
    """Return the mean over events of the events of the same unit in the same cell, from a sample of the units."""
    units, keys = list(cells.columns.unit_keys), list(cells.columns.keys)
    if number > MOST_UNITS:
        drawn = with_key_folds(everybody, cells.engine, units, number // MOST_UNITS, name=DRAWN, salt="visits")
        drawn = drawn.filter(drawn[DRAWN] == 0).drop(DRAWN)
        rows = rows.semi_join(drawn, units)
    together = rows.group_by(*units, *keys).agg(n=rows.n.sum())
    sums = cells.engine.fetch(together.agg(n=together.n.sum(), squares=(together.n * together.n).sum()))[0]
    return float(sums["squares"]) / float(sums["n"])
