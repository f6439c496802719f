"""Sparse rows (compressed sparse rows, CSR): the features of contexts or of actions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Row i has the features ``buckets[starts[i]:starts[i + 1]]`` with ``values``; ``squares``: its squared length.

    The arrays of SciPy's CSR format (indptr, indices, data), as kernels take them; buckets may repeat within a row.
    """

    starts: NDArray[np.int64]
    buckets: NDArray[np.uint32]
    values: NDArray[np.float32]
    squares: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[Any], buckets: NDArray[Any], values: NDArray[Any], size: int) -> Self:
        """Build ``size`` rows from (row, bucket, value) triples in the order of rows."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int64)
        squares = np.bincount(rows, weights=values.astype(np.float64) ** 2, minlength=size).astype(np.float32)
        return cls(starts, buckets.astype(np.uint32), values.astype(np.float32), squares)

    @classmethod
    def of_arrays(cls, starts: NDArray[np.int64], buckets: NDArray[np.uint32], values: NDArray[np.float32]) -> Self:
        """Build rows from the arrays that kernels take."""
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        squares = np.bincount(owner, weights=values.astype(np.float64) ** 2, minlength=len(starts) - 1)
        return cls(starts, buckets, values, squares.astype(np.float32))

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return the rows at these positions."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return replace(
            self, starts=starts, buckets=self.buckets[at], values=self.values[at], squares=self.squares[rows]
        )

    def among(self, buckets: NDArray[np.uint32]) -> Self:
        """Return the rows with only these buckets, given in rising order, each as its place among them."""
        places = np.searchsorted(buckets, self.buckets)
        inside = np.minimum(places, len(buckets) - 1)
        known = buckets[inside] == self.buckets if len(buckets) else np.zeros(len(self.buckets), dtype=bool)
        starts = np.concatenate([[0], np.cumsum(known)])[self.starts]
        return replace(self, starts=starts, buckets=places[known].astype(np.uint32), values=self.values[known])

    def times(self, table: NDArray[np.float32], dtype: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
        """Return the product with a table that has a row for every bucket: a row for each row here.

        Equal rows have equal products, since each is formed on its own.
        """
        result = np.zeros((len(self), table.shape[1]), dtype=dtype)
        starts, buckets, values = self.starts.tolist(), self.buckets.astype(np.int64), self.values
        for row, (begin, end) in enumerate(pairwise(starts)):
            if end > begin:
                terms = table.take(buckets[begin:end], axis=0).astype(dtype, copy=False)
                np.dot(values[begin:end].astype(dtype, copy=False), terms, out=result[row])
        return result

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
        """Return starts, buckets and values, as kernels take them."""
        return self.starts, self.buckets, self.values
