"""Sparse rows: the features of contexts or of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core.arrays import to_numpy

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Row i has the features ``buckets[starts[i]:starts[i + 1]]``, their ``values``, and the squared length of these.

    ``names``: how many different features there are; ``used``: how many buckets they fall into.
    """

    starts: NDArray[np.int64]
    buckets: NDArray[np.uint32]
    values: NDArray[np.float32]
    squares: NDArray[np.float32]
    names: int = 0
    used: int = 0

    @classmethod
    def of(cls, rows: NDArray[Any], found: NDArray[Any], values: NDArray[Any], size: int, *, names: int) -> Self:
        """Build rows from (row, bucket, value) triples in the order of rows."""
        counts = np.bincount(rows, minlength=size)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        squares = np.bincount(rows, weights=values.astype(np.float64) ** 2, minlength=size)
        used = len(np.unique(found))
        return cls(starts, found.astype(np.uint32), values.astype(np.float32), squares.astype(np.float32), names, used)

    @classmethod
    def joined(cls, parts: Sequence[FeatureRows], places: NDArray[np.int64]) -> Self:
        """Put the rows of parts, one after the other, into the places given for them."""
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        squares = np.concatenate([part.squares for part in parts])
        found = np.concatenate([part.buckets for part in parts])
        values = np.concatenate([part.values for part in parts])
        begins = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        order = np.argsort(places, kind="stable")
        lengths = counts[order]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        take = np.repeat(begins[order], lengths) + within
        names = max((part.names for part in parts), default=0)
        return cls(starts, found[take], values[take], squares[order], names, len(np.unique(found)))

    @classmethod
    def of_lists(cls, found: pa.ChunkedArray, values: pa.ChunkedArray, alone: FeatureRows) -> Self:
        """Build rows from lists of buckets and values; a row without lists is like the first of ``alone``."""
        lists, amounts = found.combine_chunks(), values.combine_chunks()
        lengths = to_numpy(lists.value_lengths(), null=0)
        rows = np.repeat(np.arange(len(lists)), lengths)
        parts = (to_numpy(lists.flatten()), to_numpy(amounts.flatten()))
        described = cls.of(rows, *parts, len(lists), names=0)
        missing = to_numpy(lists.is_null())
        if not missing.any():
            return described
        places = np.flatnonzero(missing)
        known = np.flatnonzero(~missing)
        likewise = alone.take(np.zeros(len(places), dtype=np.int64))
        return cls.joined([described.take(known), likewise], np.concatenate([known, places]))

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of the rows."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.starts[rows], lengths) + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        return type(self)(starts, self.buckets[at], self.values[at], self.squares[rows], self.names, self.used)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
        """Return starts, buckets and values, as kernels take them."""
        return self.starts, self.buckets, self.values

    @property
    def shared(self) -> float:
        """Return the share of features that lost a bucket of their own."""
        return 1 - self.used / self.names if self.names else 0.0
