"""Whether rewards go with how often a unit comes: within cells, against the logarithm of the unit's events.

    U = sum over events of (z - zbar) * (r - rbar),   z = log2 of the events of the unit, means by cell

Given contexts, actions and visits, U has mean zero if the mean reward of a cell does not depend on how often a unit
comes. Its variance is summed by unit, whose rewards may depend on each other; that a cell's mean is taken from the same
rewards makes residuals too small by sqrt(1 - the unit's share of the cell), which is put right.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import ibis

from warmstart.auditing.checks import DELTA, ROUNDING, two_sided
from warmstart.engine import float_literal
from warmstart.results import Check

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

QUESTION = "Do units that come more often earn other rewards?"
UNIT = "reward, for twice as many visits"


def rewards_by_visits(cells: Cells, sample: ir.Table) -> Check:
    """Test whether rewards go with the number of a unit's events, clustered by unit.

    Args:
        cells: The cells of the log.
        sample: Events and rewards by unit and cell.
    """
    units = _scores(cells, sample)
    sums = units.agg(
        score=units.score.sum(),
        variance=(units.clustered * units.clustered).sum(),
        spread=units.spread.sum(),
        all_squares=units.all_squares.sum(),
    )
    totals = {name: float(total or 0.0) for name, total in cells.engine.fetch(sums)[0].items()}
    score, variance, spread = (totals[name] for name in ("score", "variance", "spread"))
    compared = sample.group_by(*cells.columns.keys).agg(rows=sample.count())
    several = compared.filter(compared.rows > 1)
    number = int(cells.engine.fetch(several.agg(cells=several.count()))[0]["cells"])
    if not (spread > ROUNDING * totals["all_squares"] and variance > ROUNDING * spread):
        return Check("visits", QUESTION, None, None, None, UNIT, None, None, None, number)
    low, high = cells.evaluated.log.reward_range
    z = score / math.sqrt(variance)
    slope, error = (high - low) * score / spread, (high - low) * math.sqrt(variance) / spread
    margin = NormalDist().inv_cdf(1 - DELTA / 2) * error
    return Check("visits", QUESTION, slope, slope - margin, slope + margin, UNIT, z, two_sided(z), None, number)


def _scores(cells: Cells, sample: ir.Table) -> ir.Table:
    """Return for every unit its part of U, the same put right for its variance, and of the sum of (z - zbar)^2."""
    units = list(cells.columns.unit_keys)
    visits = sample.n.sum().over(ibis.window(group_by=units))
    rows = sample.mutate(z=visits.ln() / float_literal(math.log(2)))
    of_cell = ibis.window(group_by=list(cells.columns.keys))
    rows = rows.mutate(
        cell_n=rows.n.sum().over(of_cell),
        cell_z=(rows.n * rows.z).sum().over(of_cell),
        cell_rewards=rows.reward_sum.sum().over(of_cell),
    )
    away = rows.z - rows.cell_z / rows.cell_n
    # The only unit of a cell is not away from its mean.
    score = away * (rows.reward_sum - rows.n * rows.cell_rewards / rows.cell_n)
    others = 1.0 - rows.n / rows.cell_n
    rows = rows.select(
        *units,
        score=score,
        clustered=(others > ROUNDING).ifelse(score / others.nullif(0.0).sqrt(), 0.0),
        spread=rows.n * away * away,
        all_squares=rows.n * rows.z * rows.z,
    )
    names = ("score", "clustered", "spread", "all_squares")
    return rows.group_by(*units).agg(**{name: rows[name].sum() for name in names})
