"""Sums by unit: events joined with the coefficients of their rows, and grouped by whoever comes back.

All that an interval by unit needs is linear in rewards, constant + slope * reward for an event of a row, so that one
join and one GROUP BY serve every tau; then a row a unit is left, of which only sums and histograms are fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import BEFORE, DECIDED, EPOCH, PROBABILITY, PROPENSITY
from warmstart.engine import float_literal
from warmstart.estimators import gain, ips
from warmstart.estimators.histogram import COARSE, FINE, SMALLEST, Grid, Kind, histogram, histograms
from warmstart.estimators.intervals import NO_DOUBT, Line, Points, TermSums, UnitTotals
from warmstart.estimators.moments import Term, Terms
from warmstart.estimators.point import ESTIMATORS
from warmstart.estimators.shown import with_context_shares
from warmstart.estimators.unit_shares import UnitShares, gain_offset, gain_scale, gain_shares, value_shares
from warmstart.estimators.weights import OWN, Clip, weight_columns
from warmstart.events import VISIT_N, VISIT_REWARD

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import LocalEngine
    from warmstart.estimators.gain import Levels
    from warmstart.estimators.rows import WeightedRows
    from warmstart.events import EpochList, Visits

    Floats = NDArray[np.float64]

# A column of units by epoch: whether nothing was known of rewards before the epoch.
UNKNOWN_BEFORE = "unknown_before"
# Of fewer units that a policy's actions were shown to, no variance is told.
FEWEST_UNITS = 10


@dataclass(frozen=True, eq=False)
class UnitSums:
    """What is known of a policy's units at one tau.

    ``table``: a row for every unit with its totals by name; ``prefix``: of the totals at this tau; ``sums``: what was
    fetched of them; ``totals``: the sums over the weighted table. ``levels``: the confidence level; ``rate``: the mean
    reward that was known before the window, if it is usable; ``spread``: the mean weight of an event, by weight.
    """

    engine: LocalEngine
    table: ir.Table
    prefix: str
    sums: Mapping[str, float]
    totals: Mapping[str, float]
    levels: Levels
    rate: float | None
    spread: float

    def squares(self, estimator: str) -> dict[str, float]:
        """Return the sums over units of squared influence terms of an estimator, by name; none of too few units."""
        number, start, end = self.sums[f"{PROPENSITY}_weight_number"], f"{estimator}_", "_sq"
        if number < FEWEST_UNITS:
            return {}
        names = [name for name in self.sums if name.startswith(start) and name.endswith(end)]
        factor = number / (number - 1)
        return {name.removeprefix(start).removesuffix(end): factor * self.sums[name] for name in names}

    def terms(self, events: float, propensity: str, *, by_total: bool) -> TermSums:
        """Return what a confidence interval of the value needs to know of the units.

        Args:
            events: T, all events of the window.
            propensity: The column of propensities that weights come from.
            by_total: Whether the interval needs to know how units spread over their totals.
        """
        weight, reward = f"{propensity}_weight", f"{propensity}_reward"
        units = self.value(propensity) if by_total else None
        return TermSums(
            events=self.sums["units"],
            total=self.totals[reward],
            square_total=self.sums[f"{reward}_sq"],
            range_total=self.totals[weight],
            range_square_total=self.sums[f"{weight}_sq"],
            largest=self.sums[f"{weight}_most"],
            bound=self.sums[f"{weight}_most"],
            heaviest=self.sums[f"{reward}_most"],
            scale=self.sums["units"] / events,
            units=units,
        )

    def value(self, propensity: str, slope: float = 1.0) -> UnitTotals:
        """Return the units by what they could earn and what they earned; others count ``slope``, see value_shares."""
        shares = value_shares(self.table, self.prefix, propensity, slope)
        scale = max(slope, 1.0) * self.sums[f"{propensity}_weight_most"]
        points, units = self._histogram(shares._replace(expected=None), scale, FINE)
        independent = self.spread * self.totals[f"{propensity}_weight_sq"]
        dependent = self.sums[f"{propensity}_weight_sq"]
        if slope != 1:
            changed = float((units * points["size"] ** 2).sum())
            independent, dependent = independent * changed / (dependent or 1.0), changed
        return UnitTotals(points["size"], points["earned"], units, independent, dependent, icc=self.levels.icc)

    def gains(self, line: Line = NO_DOUBT) -> UnitTotals:
        """Return the units by what they could gain, what they gained and what was expected."""
        shares = gain_shares(self.table, self.prefix, line)
        points, units = self._histogram(shares, gain_scale(self.sums, line), COARSE)
        squares = changed = self.sums["gain_squares_sum"]
        if line.slope != 1:
            changed += (line.slope**2 - 1) * self.sums["gain_above_squares_sum"]
        independent, expected = self.spread * changed, points["expected"]
        about = UnitTotals(points["size"], points["earned"], units, independent, 0.0, expected)
        about = replace(about, offset=gain_offset(self.sums, line), rates=line.rates)
        if self.rate is None:
            net = points["size"] * (2 * expected - 1)
            return replace(about, dependent=float((units * net * net).sum()), known=False)
        independent *= self.rate * (1 - self.rate)
        dependent = self.sums["gain_net_sq"] * changed / (squares or 1.0)
        return replace(about, independent=independent, dependent=dependent, icc=self.levels.icc)

    def value_points(self, epochs: EpochList, slope: float = 1.0) -> list[Points]:
        """Return the units of every epoch by what they could earn, what they earned and what was expected."""
        return self._points(epochs, value_shares(self.table, self.prefix, PROPENSITY, slope))

    def gain_points(self, epochs: EpochList, line: Line = NO_DOUBT) -> list[Points]:
        """Return the units of every epoch by what they could gain, what they gained and what was expected."""
        return self._points(epochs, gain_shares(self.table, self.prefix, line))

    def _points(self, epochs: EpochList, shares: UnitShares) -> list[Points]:
        table, own, unknown = self.table, shares.size, self.table[UNKNOWN_BEFORE]
        sums = {"squares": (own * own).sum(), "unknown": unknown.max(), "offset": shares.offset.sum()}
        facts = {row[EPOCH]: row for row in self.engine.fetch(table.group_by(EPOCH).agg(**sums))}
        # Not relative to the largest one: units of later epochs have no say in how those of earlier ones are binned.
        result = histograms(self.engine, table.filter(own > SMALLEST), _coordinates(shares, own), COARSE, EPOCH)
        nothing = dict.fromkeys(("size", "earned", "expected"), np.zeros(0)), np.zeros(0)
        epochs_points = []
        for number in epochs.numbers.tolist():
            (points, units), fact = result.get(number, nothing), facts.get(number, {})
            known = not fact.get("unknown", 0)
            earned, expected = points["earned"], points["expected"]
            doubt = float((points["size"] ** 2 * units * expected * (1 - expected)).sum())
            variance = doubt if known else float(fact.get("squares", 0.0)) / 4
            shift = float(fact.get("offset") or 0.0)
            epochs_points.append(Points(points["size"], earned, expected, units, variance, shift, known))
        return epochs_points

    def _histogram(self, shares: UnitShares, largest: float, grid: Grid) -> tuple[dict[str, Floats], Floats]:
        """Return units by size, relative to the largest one so that none is too small to tell, and by shares of it."""
        relative = shares.size / float_literal(largest or 1.0)
        rows = self.table.filter(relative > SMALLEST)
        points, units = histogram(self.engine, rows, _coordinates(shares, relative), grid)
        return {**points, "size": points["size"] * largest}, units


def _coordinates(shares: UnitShares, size: ir.Value) -> dict[str, tuple[ir.Value, Kind]]:
    parts = {"earned": shares.earned, "expected": shares.expected}
    results: dict[str, tuple[ir.Value, Kind]] = {"size": (size, "size")}
    return results | {name: (part / shares.size, "share") for name, part in parts.items() if part is not None}


@contextmanager
def open_unit_sums(
    weighted: WeightedRows,
    taus: Sequence[Clip],
    names: Sequence[str],
    totals: Sequence[Mapping[str, float]],
    levels: Levels,
) -> Iterator[list[UnitSums | None]]:
    """Sum what intervals need by unit, at every tau; None where events are units of their own.

    Args:
        weighted: The weighted table, with its visits.
        taus: The clipping constants in use.
        names: The point estimators.
        totals: What sums over the weighted table came to, at every tau.
        levels: The confidence level, and what was known before the window.
    """
    visits, engine = weighted.visits, weighted.engine
    if visits is None:
        yield [None] * len(taus)
        return
    rate = gain.usable_rate(weighted.table, levels.rate)
    events = _with_coefficients(weighted, visits, taus, rate)
    epoch = [EPOCH] if visits.within_epochs else []
    certified = weighted.certified and not weighted.is_logging
    terms: Terms = {}
    for i, (tau, some) in enumerate(zip(taus, totals, strict=True)):
        own: Terms = {}
        for propensity in (PROPENSITY, OWN):
            if propensity in events.columns:
                own |= ips.unit_terms(events, tau, propensity, doubt=levels.doubt > 1)
        if certified:
            own |= gain.unit_terms(events, tau, events[gain.share_at(i)], doubt=levels.doubt > 1)
        for name in names:
            result = ESTIMATORS[name].influence(events, tau, ESTIMATORS[name].finish(some, weighted.events))
            own |= {f"{name}_{part}": term for part, term in result.items()}
        terms |= {f"at_{i}_{name}": term for name, term in own.items()}
    sums = {name: _sum(events, terms[name]) for name in terms}
    if epoch:
        sums[UNKNOWN_BEFORE] = events[BEFORE].isnull().cast("int64").max()
    table = engine.materialise(events.group_by(*visits.units, *epoch).agg(**sums))
    try:
        fetched = engine.fetch(_totals(table, terms))[0]
        yield [
            UnitSums(engine, table, f"at_{i}_", _own(fetched, f"at_{i}_"), some, levels, rate, visits.spread)
            for i, some in enumerate(totals)
        ]
    finally:
        table.release()


def _with_coefficients(weighted: WeightedRows, visits: Visits, taus: Sequence[Clip], rate: float | None) -> ir.Table:
    """Join events with the columns of their rows that coefficients are made of; logging's are all 1."""
    one = float_literal(1)
    if weighted.shown is None:
        return visits.table.mutate(**{PROBABILITY: one, PROPENSITY: one, DECIDED: one})
    rows = weighted.shown
    if weighted.certified:
        shares = gain.shares(weighted.table, taus)
        rows = with_context_shares(rows, weighted.table, weighted.groups, **shares)
        before = gain.expected_before(rows, rate) if visits.within_epochs or EPOCH not in rows.columns else {}
        rows = rows.mutate(**before, **weight_columns(rows, taus))
    return visits.table.join(rows, list(visits.keys))


def _sum(events: ir.Table, term: Term) -> ir.Value:
    """Sum constant + slope * reward over events."""
    factors = zip((events[VISIT_N], events[VISIT_REWARD]), term, strict=True)
    parts = [factor * coefficient for factor, coefficient in factors if coefficient is not None]
    return sum(parts[1:], start=parts[0]).sum()


def _totals(table: ir.Table, terms: Terms) -> ir.Table:
    """Count units; of each total the sum, the sum of squares, the largest, and how many are above zero."""
    sums = {"units": table.count().cast("float64")}
    for name in terms:
        total = table[name]
        sums |= {f"{name}_sum": total.sum(), f"{name}_sq": (total * total).sum(), f"{name}_most": total.max()}
        sums[f"{name}_number"] = (total > 0).cast("float64").sum()
    return table.agg(**sums)


def _own(fetched: Mapping[str, float], prefix: str) -> dict[str, float]:
    own = {name.removeprefix(prefix): float(total or 0.0) for name, total in fetched.items() if name.startswith(prefix)}
    return {"units": float(fetched["units"]), **own}
