"""The gain over logging of typical policies, summed by unit: how much rewards of a unit go together in it.

A typical policy takes one supported action in every contested context: whichever a hash of the context says, or the
same in all contexts as far as it is supported. With u = 1 / p - 1 on the action it takes and -1 elsewhere:

    design effect = sum over units of (sum of u * (r - m))^2 / sum over events of u^2 * (r - m)^2

with m the mean reward of contested contexts; of the two kinds of policies, the larger counts. If rewards of a unit were
equal, and not just alike, it would be the sum over units of (sum of u)^2 / sum over events of u^2: up to there the bets
of a gain look for the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION
from warmstart.events import counted_propensity, with_key_folds

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Row
    from warmstart.events import Cells, Visits

# How many policies of a kind, and the kinds: by the context, and the same everywhere.
POLICIES, KINDS = 3, ("hashed", "same")
DRAWS = 2**24
# Bets by unit are planned for variances from independent to equal rewards, in steps of this ratio.
VARIANCE_STEP = 4.0


@dataclass(frozen=True)
class UnitGain:
    """``design_effect``: variance of a typical gain by unit / by event; ``largest``: if a unit's rewards were equal."""

    design_effect: float
    largest: float

    @property
    def factor(self) -> float:
        """Return what the variance by event is multiplied by: bets never reckon with less than that."""
        return max(self.design_effect, 1.0)

    @property
    def steps(self) -> int:
        """Return how many variances the bets of a gain are averaged over.

        >>> UnitGain(1.0, 1.0).steps, UnitGain(2.0, 3.9).steps, UnitGain(2.0, 17.0).steps
        (1, 2, 4)
        """
        return 1 + math.ceil(math.log(max(self.largest, 1.0)) / math.log(VARIANCE_STEP) - 1e-9)


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
    joined = visits.table.join(rows.select(*visits.keys, *names), list(visits.keys))
    residual = joined.reward_sum - mean * joined.n
    terms = {f"{name}_r": (joined[name] * residual).sum() for name in names}
    terms |= {f"{name}_n": (joined[name] * joined.n).sum() for name in names}
    units = joined.group_by(*visits.units).agg(**terms)
    by_unit = cells.engine.fetch(units.agg(**{name: (units[name] * units[name]).sum() for name in terms}))[0]
    if not all(by_event[f"{name}_r"] > 0 for name in names):
        return None
    return UnitGain(*(max(_ratio(by_unit, by_event, kind, part) for kind in KINDS) for part in "rn"))


def _ratio(by_unit: Row, by_event: Row, kind: str, part: str) -> float:
    """Return the mean variance by unit of the policies of a kind / that by event."""
    names = [f"{kind}_{k}_{part}" for k in range(POLICIES)]
    return sum(float(by_unit[name]) for name in names) / sum(float(by_event[name]) for name in names)


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
