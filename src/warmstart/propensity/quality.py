"""Quality of estimated propensities: log loss and calibration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from warmstart.core import to_arrow
from warmstart.propensity.training import batch_size, draw

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.features import KeyEncoder

LEAST_PROPENSITY = 1e-12
MOST_CONTEXTS = 20_000
# Lower edges of bins, three per factor of ten; the first bin has all that is below.
EDGES = np.logspace(-4, 0, 13)[:-1]


class Rows(Protocol):
    """A model of the propensities of all actions in a context."""

    @property
    def labels(self) -> KeyEncoder:
        """Return the actions."""

    def rows(self, contexts: pa.Table, folds: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.float64]]:
        """Return the actions, and a matrix of every row's out-of-fold propensities of all actions."""


def shown_propensity(
    model: Rows, contexts: pa.Table, actions: pa.Array | pa.ChunkedArray, folds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the propensity of every row's own action; NaN where the model has none."""
    rows = np.arange(contexts.num_rows)
    batches = [shown for _, _, shown in _predictions(model, contexts, actions, folds, rows)]
    return np.concatenate(batches) if batches else np.empty(0)


def _predictions(
    model: Rows,
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    folds: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield batches of rows, their propensities of all actions and of their own (NaN where there is none)."""
    numbers, contexts = model.labels.numbers(actions), contexts.combine_chunks()
    size = batch_size(len(model.labels))
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        _, p = model.rows(contexts.take(to_arrow(batch)), folds[batch])
        yield batch, p, np.where(numbers[batch] >= 0, p[np.arange(len(batch)), numbers[batch]], np.nan)


@dataclass(frozen=True)
class LogLoss:
    """The mean of -log(propensity) over events that have one (NaN if none), and the share of events ``without``."""

    log_loss: float
    without: float


def log_loss(propensity: NDArray[np.float64], n: NDArray[np.float64]) -> LogLoss:
    """Return the mean of -log(propensity) over events, and the share of events without a propensity, left out.

    >>> log_loss(np.array([0.5, 0.25, np.nan]), np.array([2.0, 1.0, 1.0])).without
    0.25
    """
    known = ~np.isnan(propensity)
    events = float(n[known].sum())
    logs = np.log(np.maximum(propensity[known], LEAST_PROPENSITY))
    return LogLoss(-float(n[known] @ logs) / events if events else np.nan, 1 - events / float(n.sum()))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration of propensities: expected and observed shares of events by bins of the propensity.

    ``error``: half the sum of |expected - observed| over bins (expected calibration error): 0 where propensities are
    true, 1 at most. ``noise``: the mean error of true propensities, by chance. ``lower``: the lower edges of bins;
    ``expected``, ``observed``: shares of events. ``without``: the share of events without a propensity, left out.
    """

    error: float
    noise: float
    without: float
    lower: NDArray[np.float64]
    expected: NDArray[np.float64]
    observed: NDArray[np.float64]


def calibration(
    model: Rows,
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    n: NDArray[np.float64],
    folds: NDArray[np.int64],
    *,
    seed: int = 0,
    most: int = MOST_CONTEXTS,
) -> Calibration:
    """Return the calibration of propensities: expected and observed events in bins of the propensity.

    A bin expects ``sum of n_x * p(a|x)`` over its (context, action) pairs, shown or not, and observes their events.

    Args:
        model: The propensities.
        contexts: The context columns, one row per cell and fold.
        actions: The action of every row.
        n: The events of every row.
        folds: The fold of every row.
        seed: Of the sample.
        most: Use at most this many rows, sampled as for learning.
    """
    seen = np.flatnonzero(n > 0)
    drawn, weights = draw(n[seen], most, np.random.default_rng(seed))
    weight_of = np.zeros(len(n))
    weight_of[seen[drawn]] = weights
    bins = len(EDGES) + 1
    expected, observed, variance, total = np.zeros(bins), np.zeros(bins), np.zeros(bins), 0.0
    for batch, p, shown in _predictions(model, contexts, actions, folds, seen[drawn]):
        known = ~np.isnan(shown)
        weight = weight_of[batch][known]
        by_bin = _sums_in_bins(np.nan_to_num(p[known]), bins)
        expected += weight @ by_bin
        observed += np.bincount(_bins(shown[known]), weights=weight, minlength=bins)
        variance += (weight**2 / n[batch][known]) @ (by_bin * (1 - by_bin))
        total += float(weight.sum())
    total = max(total, np.finfo(float).tiny)
    return Calibration(
        error=float(np.abs(expected - observed).sum()) / total / 2,
        noise=float(np.sqrt(2 * np.maximum(variance, 0) / np.pi).sum()) / total / 2,
        without=1 - total / float(weights.sum()),
        lower=np.concatenate([[0.0], EDGES]),
        expected=expected / total,
        observed=observed / total,
    )


def _bins(p: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(EDGES, p, side="right").astype(np.int64)


def _sums_in_bins(p: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return every row's sums of probabilities by bin."""
    cells = np.arange(len(p))[:, None] * bins + _bins(p)
    sums = np.bincount(cells.ravel(), weights=p.ravel(), minlength=len(p) * bins)
    return np.asarray(sums, dtype=np.float64).reshape(len(p), bins)
