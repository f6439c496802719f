"""Count-based propensities with back-off for any context and all actions, to compare with classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from warmstart.core import to_arrow
from warmstart.features import KeyEncoder
from warmstart.propensity.backoff import backed_off, smoothed_share
from warmstart.propensity.quality import shown_propensity

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountedRows:
    """pi_hat(a|x) from the counts of the other folds; without ``strengths`` no back-off, NaN for what was never shown.

    ``levels``: for the whole context and each coarser one, its columns, its values, and events by value and action, in
    all folds and in each.
    """

    labels: KeyEncoder
    levels: tuple[tuple[tuple[str, ...], KeyEncoder, Any, tuple[Any, ...]], ...]
    shares: Floats
    strengths: tuple[float, ...] | None

    @classmethod
    def learn(
        cls,
        contexts: pa.Table,
        actions: pa.Array,
        n: Floats,
        folds: NDArray[np.int64],
        *,
        levels: Sequence[Sequence[str]],
        strengths: Sequence[float] | None,
    ) -> Self:
        """Return the model of the counts by level, action and fold.

        Args:
            contexts: The context columns, one row per cell and fold.
            actions: The action of every row.
            n: The events of every row.
            folds: The fold of every row.
            levels: Context columns from the finest level to the coarsest.
            strengths: By level, the weight of the next coarser one, in events; None for plain counts.
        """
        labels = KeyEncoder.of(actions)
        a, size = labels.numbers(actions), int(folds.max()) + 1
        counted = []
        for level in levels:
            values = KeyEncoder.of(_level(contexts, level))
            x = values.numbers(_level(contexts, level))

            def count(used: NDArray[np.bool_], x: NDArray[np.int64] = x, rows: int = len(values)) -> Any:
                shape = (rows, len(labels))
                return sparse.csr_matrix((n[used], (x[used], a[used])), shape=shape)

            counted.append((tuple(level), values, count(n > 0), tuple(count(folds == k) for k in range(size))))
        shares = np.stack([np.bincount(a, weights=n * (folds != k), minlength=len(labels)) for k in range(size)])
        smoothed = smoothed_share(shares, shares.sum(axis=1, keepdims=True), len(labels))
        return cls(labels, tuple(counted), smoothed, None if strengths is None else tuple(strengths))

    def rows(self, contexts: pa.Table, folds: NDArray[np.int64]) -> tuple[pa.Array, Floats]:
        """Return the actions, and a matrix of every row's propensities of all actions."""
        propensities = np.empty((contexts.num_rows, len(self.labels)))
        for fold in np.unique(folds).tolist():
            rows = np.flatnonzero(folds == fold)
            propensities[rows] = self._of_fold(contexts.take(to_arrow(rows)), fold)
        return self.labels.values, propensities

    def propensity(self, contexts: pa.Table, actions: pa.Array | pa.ChunkedArray, folds: NDArray[np.int64]) -> Floats:
        """Return the propensity of every row's action under the counts of other folds; NaN where there is none."""
        return shown_propensity(self, contexts, actions, folds)

    def _of_fold(self, contexts: pa.Table, fold: int) -> Floats:
        if self.strengths is None:
            counts = self._counts(0, contexts, fold)
            return np.where(counts > 0, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300), np.nan)
        by_level = (self._counts(level, contexts, fold) for level in reversed(range(len(self.levels))))
        shares: Floats = backed_off(
            np.tile(self.shares[fold], (contexts.num_rows, 1)),
            ((counts, counts.sum(axis=1, keepdims=True)) for counts in by_level),
            reversed(self.strengths),
        )
        return shares

    def _counts(self, level: int, contexts: pa.Table, fold: int) -> Floats:
        columns, values, in_all, by_fold = self.levels[level]
        x = values.numbers(_level(contexts, columns))
        counts: Floats = np.maximum((in_all[x] - by_fold[fold][x]).toarray(), 0.0)
        counts[x < 0] = 0.0
        return counts


def _level(contexts: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the columns of a level; of the level of all contexts, a constant."""
    import pyarrow as pa

    return contexts.select(list(columns)) if columns else pa.table({"all": [0] * contexts.num_rows})
