"""Visits: the evaluated events with their unit, to be joined with what a policy makes of their cells."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import EPOCH, PROPENSITY, REWARD
from warmstart.engine import sample_by_key
from warmstart.events.epoch_strata import numbered
from warmstart.events.strata import divided
from warmstart.events.window import event_weight

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.cells import Cells
    from warmstart.events.strata import Strata

# What an event counts, and that times its reward: columns of visits.
VISIT_N, VISIT_REWARD = "visit_n", "visit_reward"
# Enough events, and units, to tell how often a unit comes back to a cell.
ENOUGH_EVENTS, ENOUGH_UNITS = 500_000, 100


@dataclass(frozen=True)
class Visits:
    """The evaluated events, or their sums by unit and row: unit_0, ..., the keys of rows, visit_n, visit_reward.

    ``keys``: what identifies a row of the weighted table: context, action, and the fold and logged propensity, if any.
    ``per_row``: how many events a unit has in a cell that it has events in, weighted by these events. ``spread``: the
    mean of what an event counts, weighted by that: 1, unless units count the same. ``within_epochs``: whether rows are
    divided by epoch, and every unit lies in one.
    """

    table: ir.Table
    keys: tuple[str, ...]
    units: tuple[str, ...]
    per_row: float
    spread: float
    within_epochs: bool = False


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
    rows = table.select(**units, **keys, **{VISIT_N: n, VISIT_REWARD: n * table[REWARD]})
    spread = 1.0
    if events.units is not None:
        squares = (rows[VISIT_N] * rows[VISIT_N]).sum()
        spread = float(events.engine.fetch(rows.agg(squares=squares))[0]["squares"]) / events.total
    if events.engine.remote:
        grouped = rows.group_by(*units, *keys).agg(**{name: rows[name].sum() for name in (VISIT_N, VISIT_REWARD)})
        _, rows = events.engine.collect(grouped)
        resources.callback(rows.release)
    if strata is not None and strata.numbers is not None:
        rows = numbered(rows, strata.numbers)
    within = strata is not None and strata.epochs is not None and _within_epochs(cells, rows, list(units))
    return Visits(rows, tuple(keys), tuple(units), _events_per_row(cells, rows), spread, within)


def _within_epochs(cells: Cells, rows: ir.Table, units: list[str]) -> bool:
    """Tell whether no unit comes back in another epoch."""
    spans = rows.group_by(*units).agg(first=rows[EPOCH].min(), last=rows[EPOCH].max())
    return not cells.engine.fetch(spans.agg(back=(spans["first"] < spans["last"]).cast("int64").sum()))[0]["back"]


def some_units(cells: Cells, rows: ir.Table) -> ir.Table:
    """Return the visits of some units, about ``ENOUGH_EVENTS`` of them; all of a log that has no more, or few units."""
    units, share = list(cells.columns.unit_keys), ENOUGH_EVENTS / len(cells.evaluated)
    if share >= 1:
        return rows
    some = sample_by_key(rows, units, share)
    drawn = some.select(*units).distinct()
    number = cells.engine.fetch(drawn.agg(units=drawn.count()))[0]["units"]
    return some if number >= ENOUGH_UNITS else rows


def _events_per_row(cells: Cells, rows: ir.Table) -> float:
    """Return the mean over events of the events of the same unit in the same cell, from some of the units."""
    some = some_units(cells, rows)
    together = some.group_by(*cells.columns.unit_keys, *cells.columns.keys).agg(n=some[VISIT_N].sum())
    sums = cells.engine.fetch(together.agg(n=together.n.sum(), squares=(together.n * together.n).sum()))[0]
    return float(sums["squares"]) / float(sums["n"])
