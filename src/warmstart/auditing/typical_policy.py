"""The gain over logging of typical policies, summed by unit: how much rewards of a unit go together in it.

A typical policy takes one supported action in every contested context: whichever a hash of the context says, or the
same in all contexts as far as it is supported. With u = 1 / p - 1 on the action it takes and -1 elsewhere:

    design effect = sum over units of (sum of u * (r - m))^2 / sum over events of u^2 * (r - m)^2

with m the mean reward of contested contexts; of the two kinds of policies, the larger counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.auditing.unit_power import TypicalUnits, needed_gain
from warmstart.core import ACTION
from warmstart.engine import fetch_columns, float_literal
from warmstart.events import VISIT_N, VISIT_REWARD, counted_propensity, with_key_folds

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine, Row
    from warmstart.events import Cells, Visits

# How many policies of a kind, and the kinds: by the context, and the same everywhere.
POLICIES, KINDS = 3, ("hashed", "same")
DRAWS = 2**24
# Sizes of units are told apart by this ratio.
RATIO = 1.1


@dataclass(frozen=True)
class UnitGain:
    """``design_effect``: variance of a typical gain by unit / by event, the larger of two kinds of policies.

    ``deviations``: how many standard deviations from 0 bets by unit need, with at least the variance by event.
    """

    design_effect: float
    deviations: float

    @property
    def factor(self) -> float:
        """Return what the variance by event is multiplied by: bets never reckon with less than that."""
        return max(self.design_effect, 1.0)


def unit_gain(cells: Cells, visits: Visits, *, tau: float) -> UnitGain | None:
    """Compare the variance of typical gains by unit with that by event; None where nothing is contested.

    Args:
        cells: The cells of the log.
        visits: The events with their units.
        tau: An action is supported where its propensity is at least this.
    """
    rows = _coefficients(cells, tau)
    totals = cells.engine.fetch(rows.agg(n=rows.n.sum(), rewards=rows.reward_sum.sum()))[0]
    if not totals["n"]:
        return None
    mean = totals["rewards"] / totals["n"]
    squares = rows.reward_sq_sum - 2 * mean * rows.reward_sum + mean * mean * rows.n
    names = [f"{kind}_{k}" for kind in KINDS for k in range(POLICIES)]
    of_events = {f"{name}_r": (rows[name] * rows[name] * squares).sum() for name in names}
    of_events |= {f"{name}_n": (rows[name] * rows[name] * rows.n).sum() for name in names}
    by_event = cells.engine.fetch(rows.agg(**of_events))[0]
    if not all(by_event[f"{name}_r"] > 0 for name in names):
        return None
    joined = visits.table.join(rows.select(*visits.keys, *names), list(visits.keys))
    residual = joined[VISIT_REWARD] - mean * joined[VISIT_N]
    terms = {f"{name}_r": (joined[name] * residual).sum() for name in names}
    terms |= {f"{name}_n": (joined[name] * joined[VISIT_N]).sum() for name in names}
    terms |= {f"{name}_size": (joined[name].abs() * joined[VISIT_N]).sum() for name in names}
    units = cells.engine.materialise(joined.group_by(*visits.units).agg(**terms))
    try:
        squared = {name: (units[name] * units[name]).sum() for name in terms if not name.endswith("_size")}
        by_unit = cells.engine.fetch(units.agg(**squared))[0]
        effects = {kind: _design_effect(by_unit, by_event, kind) for kind in KINDS}
        largest = max(effects.values())
        needed = []
        for kind, effect in effects.items():
            typical = _typical_units(cells.engine, units, f"{kind}_0", by_unit, by_event, mean=mean)
            needed.append(needed_gain(typical) * math.sqrt(max(effect, 1.0) / typical.variance))
    finally:
        units.release()
    return UnitGain(largest, max(needed) / math.sqrt(max(largest, 1.0)))


def _design_effect(by_unit: Row, by_event: Row, kind: str) -> float:
    """Return the mean variance by unit of the policies of a kind / that by event."""
    names = [f"{kind}_{k}_r" for k in range(POLICIES)]
    return sum(float(by_unit[name]) for name in names) / sum(float(by_event[name]) for name in names)


def _typical_units(
    engine: LocalEngine, units: ir.Table, name: str, by_unit: Row, by_event: Row, *, mean: float
) -> TypicalUnits:
    """Return the units of one policy by what they could gain and what of it is expected, in bins.

    Args:
        engine: Where the units are.
        units: A row for every unit.
        name: The policy.
        by_unit: Sums of squares over units.
        by_event: Sums of squares over events.
        mean: The mean reward.
    """
    size, net = units[f"{name}_size"], units[f"{name}_n"]
    expected = size / 2.0 + net * float_literal(mean - 0.5)
    rows = units.select(size=size, expected=expected).filter(size > 0)
    width, least = float_literal(math.log(RATIO)), float_literal(1e-9)
    bins = {part: (ibis.greatest(rows[part], least).ln() / width).floor() for part in ("size", "expected")}
    binned = rows.group_by(size_bin=bins["size"], expected_bin=bins["expected"]).agg(
        sizes=rows["size"].mean(), expectation=rows.expected.mean(), units=rows.count().cast("float64")
    )
    sizes, expectation, number = fetch_columns(engine, binned.select("sizes", "expectation", "units"))
    variance = max(float(by_unit[f"{name}_r"]), float(by_event[f"{name}_r"]))
    sums = (float(by_event[f"{name}_n"]), float(by_unit[f"{name}_n"]))
    return TypicalUnits(sizes, expectation, number, variance, *sums, mean)


def _coefficients(cells: Cells, tau: float) -> ir.Table:
    """Return the cells of contested contexts with the u of every typical policy."""
    table, contexts = cells.table, list(cells.columns.context_keys)
    propensity = counted_propensity(table)
    table = table.mutate(p=propensity, supported=(propensity >= tau).cast("int64"))
    whole = ibis.window(group_by=contexts)
    order = ibis.window(group_by=contexts, order_by=[ibis.desc("supported"), ACTION])
    table = table.mutate(choices=table.supported.sum().over(whole), place=ibis.row_number().over(order))
    table = table.filter(table.choices >= 2)
    table = with_key_folds(table, cells.engine, contexts, DRAWS, name="draw", salt="typical policy")
    starts = {"hashed": table.draw, "same": ibis.literal(0)}
    taken = {
        f"{kind}_{k}": table.place == (starts[kind] + k) % table.choices for kind in KINDS for k in range(POLICIES)
    }
    return table.select(
        *cells.columns.keys,
        *("n", "reward_sum", "reward_sq_sum"),
        **{name: is_taken.ifelse(1.0 / table.p - 1.0, -1.0) for name, is_taken in taken.items()},
    )
