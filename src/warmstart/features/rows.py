"""Sparse rows (compressed sparse rows, CSR): the features of contexts or of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import to_numpy

# More columns than there are buckets: SciPy must know how many, and nothing here depends on it.
COLUMNS = 1 << 30


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Row i has the features ``buckets[starts[i]:starts[i + 1]]`` with ``values``; ``squares``: its squared length.

    The arrays of SciPy's CSR format (indptr, indices, data), as kernels take them; buckets may repeat within a row.
    ``names``: the number of different features; ``used``: the number of buckets they fall into.
    """

    starts: NDArray[np.int64]
    buckets: NDArray[np.uint32]
    values: NDArray[np.float32]
    squares: NDArray[np.float32]
    names: int = 0
    used: int = 0

    @classmethod
    def of(cls, rows: NDArray[Any], buckets: NDArray[Any], values: NDArray[Any], size: int, *, names: int) -> Self:
        """Build ``size`` rows from (row, bucket, value) triples in the order of rows."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int64)
        squares = np.bincount(rows, weights=values.astype(np.float64) ** 2, minlength=size).astype(np.float32)
        return cls(starts, buckets.astype(np.uint32), values.astype(np.float32), squares, names, _used(buckets))

    @classmethod
    def of_arrays(cls, starts: NDArray[np.int64], buckets: NDArray[np.uint32], values: NDArray[np.float32]) -> Self:
        """Build rows from the arrays that kernels take."""
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        squares = np.bincount(owner, weights=values.astype(np.float64) ** 2, minlength=len(starts) - 1)
        return cls(starts, buckets, values, squares.astype(np.float32))

    @classmethod
    def joined(cls, parts: Sequence[FeatureRows], places: NDArray[np.int64]) -> Self:
        """Stack the rows of parts and put row i into place ``places[i]``."""
        from scipy import sparse

        order = np.argsort(places, kind="stable")
        matrix = sparse.vstack([part.matrix for part in parts], format="csr")[order]
        squares = np.concatenate([part.squares for part in parts])[order]
        return cls._of_matrix(matrix, squares, max((part.names for part in parts), default=0), _used(matrix.indices))

    @classmethod
    def of_lists(cls, buckets: pa.ChunkedArray, values: pa.ChunkedArray, alone: FeatureRows) -> Self:
        """Build rows from lists of buckets and values; a row without lists equals the first row of ``alone``."""
        lists = buckets.combine_chunks()
        rows = np.repeat(np.arange(len(lists)), to_numpy(lists.value_lengths(), null=0))
        flat, amounts = (to_numpy(column.flatten()) for column in (lists, values.combine_chunks()))
        described = cls.of(rows, flat, amounts, len(lists), names=0)
        missing = to_numpy(lists.is_null())
        if not missing.any():
            return described
        known, places = np.flatnonzero(~missing), np.flatnonzero(missing)
        repeated = alone.take(np.zeros(len(places), dtype=np.int64))
        return cls.joined([described.take(known), repeated], np.concatenate([known, places]))

    @classmethod
    def _of_matrix(cls, matrix: Any, squares: NDArray[np.float32], names: int, used: int) -> Self:
        starts, buckets = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32)
        return cls(starts, buckets, matrix.data, squares, names, used)

    @property
    def matrix(self) -> Any:
        """Return the rows as a matrix of SciPy, with one column a bucket."""
        from scipy import sparse

        return sparse.csr_array((self.values, self.buckets.view(np.int32), self.starts), shape=(len(self), COLUMNS))

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return the rows at these positions."""
        return self._of_matrix(self.matrix[rows], self.squares[rows], self.names, self.used)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
        """Return starts, buckets and values, as kernels take them."""
        return self.starts, self.buckets, self.values


def _used(buckets: NDArray[Any]) -> int:
    return int(np.count_nonzero(np.bincount(buckets)))
