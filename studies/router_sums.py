"""Bounds and best estimates of ``studies.routers`` from sums by question, without a log.

As ``evaluate`` has them with ``unit="question"`` and counted propensities, for policies that choose one model in each
context; the library's functions do the rest. A month takes a hundredth of the time.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.router_months import Calls, Floats, Ints, Pool
from warmstart.estimators.intervals import NO_DOUBT, Line, UnitTotals, score_ends, unit_value_ends
from warmstart.estimators.intervals.doubt import lines
from warmstart.estimators.intervals.unit_bets import gain_evidence, log_sum

DIGITS = 3
# Totals of units, and what is added to "own" in the name of the part that shown events stand for themselves.
PARTS = (("size", ""), ("won", "_won"))


class Told(NamedTuple):
    """Which ends of the gain are on the wrong side of the truth, and the sign that is proven: 1, -1 or 0."""

    missed: list[bool]
    sign: int


class Estimates(NamedTuple):
    """The best estimate and the estimated gain, each with the ends of its interval."""

    value: tuple[float, float, float]
    gain: tuple[float, float, float]


class Events(NamedTuple):
    """Events under a policy: question, context, propensity of what it chooses, whether that was shown, and reward."""

    question: Ints
    context: Ints
    p: Floats
    shown: NDArray[np.bool_]
    reward: Floats
    tau: float

    @classmethod
    def of(cls, pool: Pool, calls: Calls, by: str, table: Ints, tau: float) -> Events:
        x, q = pool.places[by][1][calls.question], calls.question
        counts = np.zeros((len(table), 2))
        np.add.at(counts, (x, calls.model), 1.0)
        p = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[np.arange(len(table)), table]
        return cls(q, x, p[x], calls.model == table[x], pool.right[q, calls.model], tau)

    @property
    def apart(self) -> Events:
        """Return the same events, each of them a unit."""
        return self._replace(question=np.arange(len(self.question)))

    def by_unit(self, **terms: Floats) -> dict[str, Floats]:
        """Sum terms by question."""
        known, place = np.unique(self.question, return_inverse=True)
        return {name: np.bincount(place, term, len(known)) for name, term in terms.items()}


def gain_told(events: Events, delta: float, doubt: float, truth: float) -> Told | None:
    """Return what is certified of the gain, per event of all traffic, against the truth; None if there is none.

    An end misses if the bets rule the truth out, and a sign is proven if they rule out 0.
    """
    supported = events.p >= events.tau
    u = np.where(supported, np.where(events.shown, 1 / np.maximum(events.p, 1e-12), 0.0) - 1.0, 0.0)
    above, below = np.maximum(u, 0.0), np.maximum(-u, 0.0)
    units = events.by_unit(size=np.abs(u), won=below + u * events.reward, above=above, above_won=above * events.reward)
    squares, traffic = (float((u * u).sum()), float((above * above).sum())), float(supported.sum())
    parts = [gains(units, squares, line) for line in (lines(doubt, None) if doubt > 1 else [NO_DOUBT])]
    if traffic <= 0 or parts[0].independent <= 0:
        return None
    limit, gain = math.log(2 / delta), truth * len(events.p) / traffic
    below_it, above_it = (gain_evidence(some, traffic, limit) for some in (parts, [part.flipped for part in parts]))
    missed = [log_sum(won(m)) >= limit for won, m in ((below_it, gain), (above_it, -gain))]
    proven = [log_sum(won(0.0)) >= limit for won in (below_it, above_it)]
    return Told([bool(one) for one in missed], int(proven[0]) - int(proven[1]))


def estimated(events: Events, delta: float) -> Estimates | None:
    """Return best estimate and gain (dr); None where a reward model has a part in them: where tau clips a weight."""
    if (events.p < events.tau).any():
        return None
    total, r, e = float(len(events.p)), events.reward, np.where(events.shown, 1 / events.p, 0.0)
    cell, mean_shown = 2 * events.context + events.shown, float(events.reward.mean())
    n, won = np.bincount(cell).astype(float), np.bincount(cell, r)
    alike = np.unique(np.column_stack([events.question, cell]), axis=0, return_counts=True)[1]
    of_unit = float((alike**2).sum() / alike.sum())
    everything, all_won = np.bincount(events.context), np.bincount(events.context, r)
    others = (all_won[events.context] - won[cell]) / np.maximum(everything[events.context] - n[cell], 1)
    enough = n[cell] >= 2 * of_unit
    expected = np.where(enough, won[cell] / n[cell], others)
    spread = np.where(enough, np.sqrt(n[cell] / np.maximum(n[cell] - of_unit, 1e-12)), 1.0)
    value, gain = float((e * r).sum()) / total, float(((e - 1) * r).sum()) / total
    units = events.by_unit(weight=e, value=e * spread * (r - expected), gain=(e - 1) * spread * (r - expected))
    factor = float((units["weight"] > 0).sum())
    variances = [factor / (factor - 1) * float((units[of] ** 2).sum()) / total**2 for of in ("value", "gain")]
    ends, gain_ends = (score_ends(value, variance, delta) for variance in variances)
    return Estimates((value, *ends), (gain, gain_ends[0] - mean_shown, gain_ends[1] - mean_shown))


def value_ends(events: Events, delta: float, doubt: float) -> tuple[float, float]:
    """Return certified ends of the value; under a doubt both lines of what others earn are tried."""
    c, traffic = np.where(events.shown, 1 / np.maximum(events.p, events.tau), 0.0), float(len(events.p))
    own, whole = c * events.p, float(c.sum())
    units = events.by_unit(size=c, won=c * events.reward, own=own, own_won=own * events.reward)
    dependent, independent = float((units["size"] ** 2).sum()), float((c * c).sum())

    def ends(slope: float) -> tuple[float, float]:
        size, won = (slope * units[name] + (1 - slope) * units[f"own{end}"] for name, end in PARTS)
        changed = float((size**2).sum())
        each = delta if doubt == 1 else delta / 2
        return unit_value_ends(grouped(size, won, independent * changed / dependent, changed), traffic, each)

    some = lines(doubt, None) if doubt > 1 else [NO_DOUBT]
    found, others = [ends(line.slope) for line in some], float((c - own).sum()) / traffic
    lower = max(end[0] + line.start * others for end, line in zip(found, some, strict=True))
    upper = min(end[1] + (1 - line.slope - line.start) * others for end, line in zip(found, some, strict=True))
    return max(lower, 0.0), min(upper + max(1 - whole / traffic, 0.0), 1.0)


def gains(units: dict[str, Floats], squares: tuple[float, float], line: Line) -> UnitTotals:
    """Return what units could gain and gained, if others earn as a line says."""
    change = line.slope - 1
    size = units["size"] + change * units["above"]
    won, expected = units["won"] + change * units["above_won"], line.slope * units["above"]
    independent = squares[0] + (line.slope**2 - 1) * squares[1]
    totals = grouped(size, won, independent, 0.0, expected)
    assert totals.expected is not None
    dependent = float((totals.units * (totals.size * (2 * totals.expected - 1)) ** 2).sum())
    totals = replace(totals, dependent=dependent, known=False, rates=line.rates)
    if line.slope == 1:
        return totals
    return replace(totals, offset=float((units["size"] - units["above"] - line.start * units["above"]).sum()))


def grouped(
    size: Floats, won: Floats, independent: float, dependent: float, expected: Floats | None = None
) -> UnitTotals:
    """Return units with shares rounded, and those that are alike as one; sizes are kept."""
    present = size > 0
    size = size[present]
    earned = (won[present] / size).round(DIGITS)
    shares = [earned] if expected is None else [earned, (expected[present] / size).round(DIGITS)]
    rows, n = np.unique(np.column_stack([size.round(DIGITS), *shares]), axis=0, return_counts=True)
    more = rows[:, 2] if expected is not None else None
    return UnitTotals(rows[:, 0], rows[:, 1], n.astype(float), independent, dependent, expected=more)
