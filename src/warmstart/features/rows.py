"""Sparse rows with SciPy: those of the features of contexts or actions that were read from tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import to_numpy
from warmstart.scoring import SparseRows

# More columns than there are buckets: SciPy must know how many, and nothing here depends on it.
COLUMNS = 1 << 30


@dataclass(frozen=True, eq=False)
class FeatureRows(SparseRows):
    """Sparse rows; ``names``: the number of different features; ``used``: the number of buckets they fall into."""

    names: int = 0
    used: int = 0

    @classmethod
    def counted(cls, rows: SparseRows, names: int) -> Self:
        """Return rows with the number of their features and buckets."""
        return cls(*rows.arrays, rows.squares, names, _used(rows.buckets))

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
        described = cls.counted(SparseRows.of(rows, flat, amounts, len(lists)), names=0)
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
        return self._matrix(COLUMNS)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return the rows at these positions."""
        return self._of_matrix(self.matrix[rows], self.squares[rows], self.names, self.used)

    def times(self, table: NDArray[np.float32], dtype: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
        """Return the product with a table that has a row for every bucket."""
        return np.asarray(self._matrix(len(table)).astype(dtype, copy=False) @ table)

    def _matrix(self, columns: int) -> Any:
        from scipy import sparse

        return sparse.csr_array((self.values, self.buckets.view(np.int32), self.starts), shape=(len(self), columns))


def _used(buckets: NDArray[Any]) -> int:
    return int(np.count_nonzero(np.bincount(buckets)))
