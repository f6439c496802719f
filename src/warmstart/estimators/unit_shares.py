"""What units could earn and gain, what they earned and were expected to, as columns of a row a unit: also under doubt.

Everything is linear in a few totals of a unit, so that one GROUP BY serves every doubt (see intervals.doubt).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from warmstart.estimators.intervals import NO_DOUBT, Line

if TYPE_CHECKING:
    from collections.abc import Mapping

    import ibis.expr.types as ir


class UnitShares(NamedTuple):
    """Columns of units: what they could earn, what they earned, what was expected, and what Q is counted from.

    See intervals.unit_bets and intervals.epoch_bets; ``expected`` is None for a value without expected rewards.
    """

    size: ir.Value
    earned: ir.Value
    expected: ir.Value | None
    offset: ir.Value


def value_shares(table: ir.Table, prefix: str, propensity: str, slope: float = 1.0) -> UnitShares:
    """Return what units could earn of a value, if the others that a shown event stands for count ``slope``.

    Args:
        table: A row for every unit.
        prefix: Of its columns, at one tau.
        propensity: The column of propensities that weights come from.
        slope: See intervals.doubt.
    """
    stem = f"{prefix}{propensity}"

    def part(name: str) -> ir.Value:
        whole = table[f"{stem}_{name}"]
        return whole if slope == 1 else slope * whole + (1 - slope) * table[f"{stem}_{name}_own"]

    size = part("weight")
    expected = part("expected") if f"{stem}_expected" in table.columns else None
    return UnitShares(size, part("reward"), expected, size * 0.0)


def gain_shares(table: ir.Table, prefix: str, line: Line = NO_DOUBT) -> UnitShares:
    """Return what units could gain, if others earn as a line says: see gain.unit_terms."""

    def part(name: str) -> ir.Value:
        return table[f"{prefix}gain_{name}"]

    size, won, expected = part("size"), part("won"), part("expected")
    if line.slope == 1:
        offset = part("worst") if f"{prefix}gain_worst" in table.columns else size * 0.0
        return UnitShares(size, won, expected, offset)
    above, mixed, change = part("above"), part("mixed"), line.slope - 1
    above_expected, mixed_expected, unexpected = above, mixed, mixed * 0.0
    if f"{prefix}gain_above_expected" in table.columns:
        above_expected, mixed_expected = part("above_expected"), part("mixed_expected")
        unexpected = mixed - mixed_expected
    more, less = max(change, 0.0), max(-change, 0.0)
    return UnitShares(
        size + change * above + abs(change) * mixed,
        won + change * part("above_won") + more * part("mixed_won") + less * (mixed - part("mixed_won")),
        expected + change * above_expected + more * mixed_expected + less * unexpected,
        size - above + less * mixed - line.start * (above + mixed),
    )


def gain_scale(sums: Mapping[str, float], line: Line) -> float:
    """Return what no unit could gain more than."""
    most = sums["gain_size_most"]
    return most if line.slope == 1 else max(line.slope, 1.0) * most + abs(line.slope - 1) * sums["gain_mixed_most"]


def gain_offset(sums: Mapping[str, float], line: Line) -> float | None:
    """Return what units would earn together if there were no gain, less what is certain; None without doubt."""
    if line.slope == 1:
        return None
    size, above, mixed = (sums[f"gain_{name}_sum"] for name in ("size", "above", "mixed"))
    return size - above + max(1 - line.slope, 0.0) * mixed - line.start * (above + mixed)
