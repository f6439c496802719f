"""Tests for non-stationary rewards (drift) and for a logging policy that reacts to rewards, on daily cells.

Within a cell, rewards are compared between days; the mean reward of the cell does not matter:

    U = sum over cells and days of (z_d - zbar) * s_d,   Var U = sum over cells of v * sum of n_d (z_d - zbar)^2

with v the variance of the cell's rewards. z_d is the day (drift), or the action's share of the context's next day
(reaction). Given contexts and actions, U has mean zero if the mean reward of a cell is the same every day.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from warmstart.core import DAY, MICROSECONDS_PER_DAY
from warmstart.results import Check

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import DailyCells

DELTA = 0.05
# A difference below this share of its terms is rounding error.
ROUNDING = 1e-12


class ScoreSums(NamedTuple):
    """``score``: U, and its variance; ``spread``: the sum of n (z - zbar)^2; ``clustered``: of squared U by context."""

    score: float
    variance: float
    spread: float
    clustered: float
    events: float
    cells: float


def assumption_checks(daily: DailyCells) -> tuple[Check, ...]:
    """Return the tests for drift and for reaction."""
    cells = daily.cells
    sums = cells.engine.fetch(_test_sums(daily))[0]
    low, high = cells.evaluated.log.reward_range
    window = cells.evaluated.window
    first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
    drift, reaction = (
        ScoreSums(*(float(sums[f"{test}_{name}"] or 0) for name in ScoreSums._fields)) for test in ("drift", "reaction")
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


def _check(name: str, question: str, sums: ScoreSums, scale: float, unit: str) -> Check:
    if not (sums.variance > 0 and sums.spread > 0):
        return Check(name, question, None, None, None, unit, None, None, None, round(sums.cells))
    z = sums.score / math.sqrt(sums.variance)
    slope, error = sums.score / sums.spread * scale, math.sqrt(sums.variance) / sums.spread * scale
    margin = NormalDist().inv_cdf(1 - DELTA / 2) * error
    clustered = two_sided(sums.score / math.sqrt(sums.clustered)) if sums.clustered > 0 else None
    return Check(
        name, question, slope, slope - margin, slope + margin, unit, z, two_sided(z), clustered, round(sums.cells)
    )


def two_sided(z: float) -> float:
    """Return the two-sided p-value of a standard normal z.

    >>> round(two_sided(1.959964), 4)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def _test_sums(daily: DailyCells) -> ir.Table:
    """Return one row with the sums of both tests: within cells, then within contexts, then over all."""
    # A cell with a single day has nothing to compare.
    cells, days = daily.cells, daily.days.filter(daily.days.again)
    first = (cells.evaluated.window.first or 0) // MICROSECONDS_PER_DAY
    has_next = days.next_share.notnull()
    tests = {"drift": ((days[DAY] - first).cast("float64"), None), "reaction": (days.next_share, has_next)}
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
        usable = (n >= 2) & (spread > ROUNDING * nzz)
        squares = q - s * s / n.nullif(0.0)
        rewards_differ = squares > ROUNDING * q
        of_cell = {
            "score": rewards_differ.ifelse(sz - nz / n.nullif(0.0) * s, 0.0),
            "variance": rewards_differ.ifelse(squares / (n - 1.0).nullif(0.0) * spread, 0.0),
            "spread": spread,
            "events": n,
        }
        for name, value in of_cell.items():
            parts[f"{test}_{name}"] = usable.ifelse(value, 0.0).sum()
        parts[f"{test}_cells"] = usable.cast("int64").sum()
    by_context = by_cell.group_by(*cells.columns.context_keys).agg(**parts)
    totals: dict[str, ir.Value] = {name: by_context[name].sum() for name in parts}
    for test in tests:
        score = by_context[f"{test}_score"]
        totals[f"{test}_clustered"] = (score * score).sum()
    return by_context.agg(**totals)
