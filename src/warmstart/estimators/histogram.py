"""Histograms of rows in several coordinates, each row divided between the corners of its bin.

The weights of a row's corners are products of its places between the ends of each coordinate, so that every function
that is linear in each coordinate keeps its sum, and a function that is concave in each can only become smaller
(Jensen): bets lose a little by it, and gain nothing. Only sums over bins leave the engine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import ibis
import numpy as np

from warmstart.engine import float_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import Engine

    Floats = NDArray[np.float64]

Kind = Literal["size", "share"]

SMALLEST = 1e-9
GROUP = "histogram_of"


@dataclass(frozen=True)
class Grid:
    """How finely rows are told apart: sizes by a ratio, shares of [0, 1] by so many equal steps of their arcsine.

    So small shares, and large ones, are told apart as well as the noise of their means.
    """

    ratio: float
    steps: int

    def bin(self, value: ir.Value, kind: Kind) -> ir.Value:
        """Return the number of a value's bin."""
        if kind == "size":
            logarithm = ibis.greatest(value, float_literal(SMALLEST)).ln()
            return (logarithm / float_literal(math.log(self.ratio))).floor()
        number = (_clipped(value).sqrt().asin() / float_literal(self.step)).floor()
        return ibis.least(number, float_literal(self.steps - 1))

    def place(self, value: ir.Value, kind: Kind, bins: ir.Value) -> ir.Value:
        """Return where between the ends of its bin a value lies, from 0 to 1."""
        if kind == "size":
            low = float_literal(self.ratio) ** bins
            return _clipped((value / low - 1.0) / float_literal(self.ratio - 1))
        low, high = ((number * float_literal(self.step)).sin() for number in (bins, bins + 1.0))
        return _clipped((_clipped(value) - low * low) / (high * high - low * low))

    def low(self, bins: Floats, kind: Kind) -> Floats:
        """Return the lower ends of bins; the upper end is that of the next."""
        if kind == "size":
            return np.asarray(np.power(self.ratio, bins))
        return np.asarray(np.sin(np.minimum(bins, self.steps) * self.step) ** 2)

    @property
    def step(self) -> float:
        """Return the step of the arcsine."""
        return math.pi / (2 * self.steps)


# Points of two coordinates are few; of three, they would be too many for bets to be computed fast.
FINE, COARSE = Grid(1.1, 128), Grid(1.2, 64)


def _clipped(value: ir.Value) -> ir.Value:
    return ibis.greatest(ibis.least(value, float_literal(1)), float_literal(0))


def histogram(
    engine: Engine, rows: ir.Table, coordinates: Mapping[str, tuple[ir.Value, Kind]], grid: Grid
) -> tuple[dict[str, Floats], Floats]:
    """Return points, by coordinate, and how many rows each of them stands for.

    Args:
        engine: Where the rows are.
        rows: A table.
        coordinates: Columns of it by name, and their kinds.
        grid: How finely they are told apart.
    """
    result = list(histograms(engine, rows, coordinates, grid).values())
    return result[0] if result else ({name: np.zeros(0) for name in coordinates}, np.zeros(0))


def histograms(
    engine: Engine,
    rows: ir.Table,
    coordinates: Mapping[str, tuple[ir.Value, Kind]],
    grid: Grid,
    by: str | None = None,
) -> dict[int, tuple[dict[str, Floats], Floats]]:
    """Return a histogram for every value of a column of whole numbers, if there is one; else one, by 0.

    Args:
        engine: Where the rows are.
        rows: A table.
        coordinates: Columns of it by name, and their kinds.
        grid: How finely they are told apart.
        by: The column.
    """
    kinds = {name: kind for name, (_, kind) in coordinates.items()}
    names = list(kinds)
    group = {GROUP: ibis.literal(0) if by is None else rows[by]}
    binned = rows.select(**group, **{name: value for name, (value, _) in coordinates.items()})
    binned = binned.mutate(**{f"{name}_bin": grid.bin(binned[name], kind) for name, kind in kinds.items()})
    bins = {name: binned[f"{name}_bin"] for name in names}
    places = {name: grid.place(binned[name], kind, bins[name]) for name, kind in kinds.items()}
    binned = binned.select(GROUP, **places, **{f"{name}_bin": bins[name] for name in names})
    sums = {"rows": binned.count().cast("float64")}
    subsets = [some for size in range(1, len(names) + 1) for some in itertools.combinations(range(len(names)), size)]
    for some in subsets:
        product = math.prod((binned[names[i]] for i in some[1:]), start=binned[names[some[0]]])
        sums["_".join(map(str, some))] = product.sum()
    keys = [f"{name}_bin" for name in names]
    table = engine.fetch_arrow(binned.group_by(GROUP, *keys).agg(**sums).order_by([GROUP, *keys]))
    columns = {name: table[name].to_numpy().astype(np.float64) for name in table.column_names}
    results = {}
    for number in np.unique(columns[GROUP]):
        own = {name: column[columns[GROUP] == number] for name, column in columns.items()}
        totals = {(): own["rows"]} | {some: own["_".join(map(str, some))] for some in subsets}
        points, mass = _points(np.stack([own[key] for key in keys], axis=1), totals)
        results[int(number)] = {name: grid.low(points[:, i], kinds[name]) for i, name in enumerate(names)}, mass
    return results


def _points(low: Floats, totals: Mapping[tuple[int, ...], Floats]) -> tuple[Floats, Floats]:
    """Divide each bin's rows between its corners, and add up what meets in a point."""
    corners, masses = [], []
    for upper in itertools.product((0, 1), repeat=low.shape[1]):
        ends = {i for i, one in enumerate(upper) if one}
        # The product of places where the corner is the upper end, and of 1 - place elsewhere, multiplied out.
        parts = [(-1.0) ** (len(some) - len(ends)) * total for some, total in totals.items() if ends <= set(some)]
        masses.append(np.maximum(np.sum(parts, axis=0), 0.0))
        corners.append(low + np.array(upper))
    points, position = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    rows: Floats = np.bincount(position.ravel(), np.concatenate(masses), len(points)).astype(np.float64)
    return points[rows > 0], rows[rows > 0]
