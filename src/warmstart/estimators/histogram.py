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

# Sizes are told apart by this ratio, down to the smallest one; shares of [0, 1] by equal steps of their arcsine, so
# that small ones, and large ones, are told apart as well as the noise of their means.
RATIO, SMALLEST = 1.1, 1e-9
STEPS = 128
STEP = math.pi / (2 * STEPS)


@dataclass(frozen=True)
class Coordinate:
    """A column of the histogram, and its kind."""

    value: ir.Value
    kind: Kind

    @property
    def bin(self) -> ir.Value:
        """Return the number of its bin."""
        if self.kind == "size":
            return (ibis.greatest(self.value, float_literal(SMALLEST)).ln() / float_literal(math.log(RATIO))).floor()
        steps = (_clipped(self.value).sqrt().asin() / float_literal(STEP)).floor()
        return ibis.least(steps, float_literal(STEPS - 1))

    def place(self, bins: ir.Value) -> ir.Value:
        """Return where between the ends of its bin it lies, from 0 to 1."""
        if self.kind == "size":
            low = float_literal(RATIO) ** bins
            return _clipped((self.value / low - 1.0) / float_literal(RATIO - 1))
        low, high = ((number * float_literal(STEP)).sin() for number in (bins, bins + 1.0))
        return _clipped((_clipped(self.value) - low * low) / (high * high - low * low))


def _clipped(value: ir.Value) -> ir.Value:
    return ibis.greatest(ibis.least(value, float_literal(1)), float_literal(0))


def grid(bins: Floats, kind: Kind) -> Floats:
    """Return the lower ends of bins; the upper end is that of the next."""
    values: Floats = np.power(RATIO, bins) if kind == "size" else np.sin(np.minimum(bins, STEPS) * STEP) ** 2
    return values


def histogram(
    engine: Engine, rows: ir.Table, coordinates: Mapping[str, Coordinate]
) -> tuple[dict[str, Floats], Floats]:
    """Return points, by coordinate, and how many rows each of them stands for.

    Args:
        engine: Where the rows are.
        rows: A table.
        coordinates: Columns of it by name.
    """
    names = list(coordinates)
    binned = rows.select(**{name: one.value for name, one in coordinates.items()})
    held = {name: Coordinate(binned[name], one.kind) for name, one in coordinates.items()}
    binned = binned.mutate(**{f"{name}_bin": one.bin for name, one in held.items()})
    places = {name: one.place(binned[f"{name}_bin"]) for name, one in held.items()}
    binned = binned.select(*(f"{name}_bin" for name in names), **places)
    bins = [f"{name}_bin" for name in names]
    sums = {"rows": binned.count().cast("float64")}
    subsets = [some for size in range(1, len(names) + 1) for some in itertools.combinations(range(len(names)), size)]
    for some in subsets:
        product = math.prod((binned[names[i]] for i in some[1:]), start=binned[names[some[0]]])
        sums["_".join(map(str, some))] = product.sum()
    table = engine.fetch_arrow(binned.group_by(*bins).agg(**sums).order_by(bins))
    columns = {name: table[name].to_numpy().astype(np.float64) for name in table.column_names}
    totals = {(): columns["rows"]} | {some: columns["_".join(map(str, some))] for some in subsets}
    low = np.stack([columns[name] for name in bins], axis=1)
    return _points(low, totals, [coordinates[name].kind for name in names], names)


def _points(
    low: Floats, totals: Mapping[tuple[int, ...], Floats], kinds: list[Kind], names: list[str]
) -> tuple[dict[str, Floats], Floats]:
    """Divide each bin's rows between its corners, and add up what meets in a point."""
    corners, masses = [], []
    for upper in itertools.product((0, 1), repeat=len(names)):
        ends = {i for i, one in enumerate(upper) if one}
        # The product of places where the corner is the upper end, and of 1 - place elsewhere, multiplied out.
        parts = [(-1.0) ** (len(some) - len(ends)) * total for some, total in totals.items() if ends <= set(some)]
        masses.append(np.maximum(np.sum(parts, axis=0), 0.0))
        corners.append(low + np.array(upper))
    points, position = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    rows: Floats = np.bincount(position.ravel(), np.concatenate(masses), len(points)).astype(np.float64)
    present = rows > 0
    return {name: grid(points[present, i], kinds[i]) for i, name in enumerate(names)}, rows[present]
