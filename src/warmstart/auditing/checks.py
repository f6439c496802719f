"""Do rewards drift, and does the logger react to them? Tests on cells by day.

Within a cell, rewards are compared between days; what the cell earns on the whole does not matter:

    U = sum over cells and days of (z_d - zbar) * s_d,   Var U = sum over cells of v * sum of n_d (z_d - zbar)^2

with v the variance of the cell's rewards. z_d is the day (drift), or the action's share of the context's next day
(reaction). Given contexts and actions, U has mean zero if the mean reward of a cell is the same every day.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from warmstart.core.names import DAY, MICROSECONDS_PER_DAY
from warmstart.results import Check

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import DailyCells


DELTA = 0.05
# Below this share of its parts, a difference is rounding.
ROUNDING = 1e-12


class Sums(NamedTuple):
    """U, its variance, the sum of n (z - zbar)^2, that over contexts of their squared U; events and cells in it."""

    moved: float
    variance: float
    spread: float
    clustered: float
    events: float
    cells: float


def assumption_checks(daily: DailyCells) -> tuple[Check, ...]:
    """Test for drift and for reaction."""
    cells = daily.cells
    found = cells.engine.fetch(_both(daily))[0]
    low, high = cells.evaluated.log.reward_range
    window = cells.evaluated.window
    first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
    drift, reaction = (
        Sums(**{name: float(found[f"{test}_{name}"] or 0) for name in Sums._fields}) for test in ("drift", "reaction")
    )
    return (
        _check(
            "drift",
            "Does the reward of an action in a context change over time?",
            drift,
            (last - first) * (high - low),
            "reward, from the first day to the last",
        ),
        _check(
            "reaction",
            "Is an action shown more, or less, on the day after it did well?",
            reaction,
            math.sqrt(reaction.spread / max(reaction.events, 1.0)) * (high - low),
            "reward, for a typical change (one standard deviation) of the action's share the next day",
        ),
    )


def _check(name: str, question: str, sums: Sums, scale: float, unit: str) -> Check:
    if not (sums.variance > 0 and sums.spread > 0):
        return Check(name, question, None, None, None, unit, None, None, None, round(sums.cells))
    z = sums.moved / math.sqrt(sums.variance)
    slope, error = sums.moved / sums.spread * scale, math.sqrt(sums.variance) / sums.spread * scale
    reach = NormalDist().inv_cdf(1 - DELTA / 2) * error
    clustered = two_sided(sums.moved / math.sqrt(sums.clustered)) if sums.clustered > 0 else None
    return Check(
        name, question, slope, slope - reach, slope + reach, unit, z, two_sided(z), clustered, round(sums.cells)
    )


def two_sided(z: float) -> float:
    """Return how often a standard normal number lies at least so far from zero.

    >>> round(two_sided(1.959964), 4)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def _both(daily: DailyCells) -> ir.Table:
    """Add up both tests: within cells, then within contexts, then over all."""
    cells, days = daily.cells, daily.days
    first = (cells.evaluated.window.first or 0) // MICROSECONDS_PER_DAY
    ahead = days.next_share.notnull()
    tests = {"drift": ((days[DAY] - first).cast("float64"), None), "reaction": (days.next_share, ahead)}
    sums: dict[str, ir.Value] = {}
    for test, (z, used) in tests.items():
        terms = {"n": days.n, "s": days.reward_sum, "q": days.reward_sq_sum}
        terms |= {"nz": days.n * z, "nzz": days.n * z * z, "sz": days.reward_sum * z}
        for name, term in terms.items():
            sums[f"{test}_{name}"] = (term if used is None else used.ifelse(term, 0.0)).sum()
    by_cell = days.group_by(*cells.columns.keys).agg(**sums)
    parts: dict[str, ir.Value] = {}
    for test in tests:
        n, s, q, nz, nzz, sz = (by_cell[f"{test}_{name}"] for name in ("n", "s", "q", "nz", "nzz", "sz"))
        spread = nzz - nz * nz / n.nullif(0.0)
        takes_part = (n >= 2) & (spread > ROUNDING * nzz)
        differ = (q - s * s / n.nullif(0.0)) > ROUNDING * q
        variance = (q - s * s / n.nullif(0.0)) / (n - 1.0).nullif(0.0)
        of_cell = {
            "moved": differ.ifelse(sz - nz / n.nullif(0.0) * s, 0.0),
            "variance": differ.ifelse(variance * spread, 0.0),
            "spread": spread,
            "events": n,
        }
        for name, value in of_cell.items():
            parts[f"{test}_{name}"] = takes_part.ifelse(value, 0.0).sum()
        parts[f"{test}_cells"] = takes_part.cast("int64").sum()
    by_context = by_cell.group_by(*cells.columns.context_keys).agg(**parts)
    totals: dict[str, ir.Value] = {name: by_context[name].sum() for name in parts}
    for test in tests:
        moved = by_context[f"{test}_moved"]
        totals[f"{test}_clustered"] = (moved * moved).sum()
    return by_context.agg(**totals)
