"""What is known of units (users, sessions): how often they come, and how much their rewards go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warmstart.auditing.facts import spread_of
from warmstart.auditing.stickiness import stickiness
from warmstart.auditing.visit_rewards import rewards_by_visits
from warmstart.events import VISIT_N, VISIT_REWARD, some_units
from warmstart.results import UnitFacts

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.auditing.typical_policy import UnitGain
    from warmstart.events import Cells, Visits


def unit_facts(cells: Cells, visits: Visits, gain: UnitGain | None) -> UnitFacts:
    """Describe the units of a log; whether actions stick and rewards go with visits, from a sample of many units.

    Args:
        cells: The cells of the log.
        visits: The events with their units.
        gain: What typical policies' gains say, if anything is contested.
    """
    engine, rows = cells.engine, visits.table
    by_unit = engine.materialise(_summed(rows, visits.units))
    try:
        units, per_unit = spread_of(engine, by_unit)
        effect = _design_effect(cells, by_unit)
    finally:
        by_unit.release()
    sample = engine.materialise(_summed(some_units(cells, rows), (*visits.units, *cells.columns.keys)))
    try:
        sticky, test = stickiness(cells, sample), rewards_by_visits(cells, sample)
    finally:
        sample.release()
    events = cells.evaluated.window.events
    return UnitFacts(
        columns=cells.columns.unit,
        units=units,
        events_per_unit=per_unit,
        largest=per_unit.most / events,
        design_effect=effect,
        independent_events=events / effect if effect else None,
        gain_design_effect=None if gain is None else gain.design_effect,
        stickiness=sticky,
        visits=test,
    )


def _summed(rows: ir.Table, keys: Sequence[str]) -> ir.Table:
    return rows.group_by(*keys).agg(n=rows[VISIT_N].sum(), reward_sum=rows[VISIT_REWARD].sum())


def _design_effect(cells: Cells, by_unit: ir.Table) -> float | None:
    """Return the variance of the mean reward by unit / by event; None for one unit, or rewards that never differ."""
    table = cells.table
    sums = table.agg(n=table.n.sum(), s=table.reward_sum.sum(), q=table.reward_sq_sum.sum())
    n, s, q = (float(total) for total in cells.engine.fetch(sums)[0].values())
    residual = by_unit.reward_sum - (s / n) * by_unit.n
    result = cells.engine.fetch(by_unit.agg(units=by_unit.count(), squares=(residual * residual).sum()))[0]
    units, by_event = int(result["units"]), q - s * s / n
    if units < 2 or by_event <= 1e-12 * q:
        return None
    return float(result["squares"]) * units / (units - 1) / (by_event * n / (n - 1))
