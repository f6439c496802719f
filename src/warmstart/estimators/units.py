"""Sums by unit: events joined with the coefficients of their rows, and grouped by whoever comes back.

All that an interval by unit needs is linear in rewards, constant + slope * reward for an event of a row, so that one
join and one GROUP BY serve every tau; then a row a unit is left, of which only sums and histograms are fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import PROPENSITY
from warmstart.estimators import gain, ips
from warmstart.estimators.histogram import Coordinate, histogram
from warmstart.estimators.intervals import TermSums, UnitTotals
from warmstart.estimators.moments import Term, Terms
from warmstart.estimators.point import ESTIMATORS
from warmstart.estimators.weights import OWN

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.gain import Levels
    from warmstart.estimators.rows import WeightedRows


@dataclass(frozen=True, eq=False)
class UnitSums:
    """What is known of a policy's units at one tau.

    ``table``: a row for every unit, with its events and its totals by name; ``prefix``: of the totals at this tau;
    ``sums``: what was fetched of them. ``levels``: the confidence level; ``known``: whether expected rewards are.
    """

    engine: LocalEngine
    table: ir.Table
    prefix: str
    sums: Mapping[str, float]
    levels: Levels
    known: bool

    def squares(self, estimator: str) -> dict[str, float]:
        """Return the sums over units of squared influence terms of an estimator, by name."""
        start, end = f"{estimator}_", "_sq"
        names = [name for name in self.sums if name.startswith(start) and name.endswith(end)]
        return {name.removeprefix(start).removesuffix(end): self.sums[name] for name in names}

    def terms(self, totals: Mapping[str, float], events: float, propensity: str, *, by_total: bool) -> TermSums:
        """Return what a confidence interval of the value needs to know of the units.

        Args:
            totals: The sums over the weighted table.
            events: T, all events of the window.
            propensity: The column of propensities that weights come from.
            by_total: Whether the interval needs to know how units spread over their totals.
        """
        weight, reward = f"{propensity}_weight", f"{propensity}_reward"
        units = self._value(propensity) if by_total else None
        return TermSums(
            events=self.sums["units"],
            total=totals[reward],
            square_total=self.sums[f"{reward}_sq"],
            range_total=totals[weight],
            range_square_total=self.sums[f"{weight}_sq"],
            largest=self.sums[f"{weight}_most"],
            bound=self.sums[f"{weight}_most"],
            heaviest=self.sums[f"{reward}_most"],
            scale=self.sums["units"] / events,
            units=units,
        )

    def _value(self, propensity: str) -> UnitTotals:
        size, reward = (self.table[f"{self.prefix}{propensity}_{name}"] for name in ("weight", "reward"))
        rows = self.table.filter(size > 0)
        coordinates = {"size": Coordinate(size, "size"), "earned": Coordinate(reward / size, "share")}
        points, units = histogram(self.engine, rows, coordinates)
        variances = (self.sums[f"{propensity}_squares_sum"], self.sums[f"{propensity}_weight_sq"])
        return UnitTotals(points["size"], points["earned"], units, *variances, icc=self.levels.icc)

    def gains(self) -> UnitTotals:
        """Return the units by what they could gain, what they gained and what was expected."""
        size, won, expected = (self.table[f"{self.prefix}gain_{name}"] for name in ("size", "won", "expected"))
        rows = self.table.filter(size > 0)
        coordinates = {
            "size": Coordinate(size, "size"),
            "earned": Coordinate(won / size, "share"),
            "expected": Coordinate(expected / size, "share"),
        }
        points, units = histogram(self.engine, rows, coordinates)
        variances = (self.sums["gain_squares_sum"], self.sums["gain_net_sq"])
        icc = self.levels.icc if self.known else None
        return UnitTotals(points["size"], points["earned"], units, *variances, points["expected"], self.known, icc)


@contextmanager
def open_unit_sums(
    weighted: WeightedRows,
    taus: Sequence[float],
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
    if weighted.visits is None or weighted.shown is None:
        yield [None] * len(taus)
        return
    rows, engine = weighted.shown, weighted.engine
    rate = gain.usable_rate(rows, levels.rate)
    certified = weighted.certified and not weighted.is_logging
    if certified:
        rows = gain.with_shares(rows, weighted.groups, taus)
    terms: Terms = {}
    for i, (tau, some) in enumerate(zip(taus, totals, strict=True)):
        own: Terms = {}
        for propensity in (PROPENSITY, OWN):
            own |= ips.unit_terms(rows, tau, propensity) if propensity in rows.columns else {}
        own |= gain.unit_terms(rows, tau, rate, share=rows[gain.share_at(i)]) if certified else {}
        for name in names:
            moments = ESTIMATORS[name].finish(some, weighted.events)
            found = ESTIMATORS[name].influence(rows, tau, moments, weighted.visits.per_row)
            own |= {f"{name}_{part}": term for part, term in found.items()}
        terms |= {f"at_{i}_{name}": term for name, term in own.items()}
    table = engine.materialise(_by_unit(weighted, rows, terms))
    try:
        fetched = engine.fetch(_totals(table, terms))[0]
        yield [
            UnitSums(engine, table, prefix, _own(fetched, prefix), levels, known=rate is not None)
            for prefix in (f"at_{i}_" for i in range(len(taus)))
        ]
    finally:
        table.release()


def _by_unit(weighted: WeightedRows, rows: ir.Table, terms: Terms) -> ir.Table:
    """Join events with the coefficients of their rows, and sum by unit."""
    visits = weighted.visits
    assert visits is not None
    factors = Term("n", "reward_sum", "n_squared")
    parts = {
        (name, factor): coefficient
        for name, term in terms.items()
        for factor, coefficient in zip(factors, term, strict=True)
        if coefficient is not None
    }
    named = {f"{name}_by_{factor}": coefficient for (name, factor), coefficient in parts.items()}
    joined = visits.table.join(rows.select(*visits.keys, **named), list(visits.keys))
    sums = {"n": joined.n.sum()}
    for name in terms:
        added = [joined[factor] * joined[f"{name}_by_{factor}"] for own, factor in parts if own == name]
        sums[name] = sum(added[1:], start=added[0]).sum()
    return joined.group_by(*visits.units).agg(**sums)


def _totals(table: ir.Table, terms: Terms) -> ir.Table:
    """Count units; of each total the sum, the sum of squares and the largest."""
    sums = {"units": table.count().cast("float64")}
    for name in terms:
        total = table[name]
        sums |= {f"{name}_sum": total.sum(), f"{name}_sq": (total * total).sum(), f"{name}_most": total.max()}
    return table.agg(**sums)


def _own(fetched: Mapping[str, float], prefix: str) -> dict[str, float]:
    own = {name.removeprefix(prefix): float(total or 0.0) for name, total in fetched.items() if name.startswith(prefix)}
    return {"units": float(fetched["units"]), **own}
