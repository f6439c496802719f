"""How good estimated propensities are: how likely they make the log, and whether they are what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from warmstart.core.arrays import to_arrow
from warmstart.propensity.classifier import batch_size, draw

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.features import KeyEncoder

LEAST_PROPENSITY = 1e-12
MOST_CONTEXTS = 20_000
# Three bins to a factor of ten; the first holds all that is below.
EDGES = np.logspace(-4, 0, 13)[:-1]


class Rows(Protocol):
    """Anything that gives the propensities of all actions in a context."""

    @property
    def labels(self) -> KeyEncoder:
        """Return the actions."""
        ...

    def rows(self, contexts: pa.Table, folds: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.float64]]:
        """Return the actions, and every row's propensities of them all, learned from other folds."""
        ...


def shown_propensity(
    model: Rows, contexts: pa.Table, actions: pa.Array | pa.ChunkedArray, folds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the propensity of every row's own action; NaN where there is none."""
    numbers, contexts = model.labels.numbers(actions), contexts.combine_chunks()
    found = np.full(len(numbers), np.nan)
    size = batch_size(len(model.labels))
    for start in range(0, len(numbers), size):
        batch = np.arange(start, min(start + size, len(numbers)))
        _, p = model.rows(contexts.take(to_arrow(batch)), folds[batch])
        found[batch] = np.where(numbers[batch] >= 0, p[np.arange(len(batch)), numbers[batch]], np.nan)
    return found


@dataclass(frozen=True)
class LogLoss:
    """The mean of -log(propensity) over events that have one (NaN if none has), and the share of ``without``."""

    log_loss: float
    without: float


def log_loss(propensity: NDArray[np.float64], n: NDArray[np.float64]) -> LogLoss:
    """Average -log(propensity) over the events of cells; leave out those without a propensity, and show their share.

    >>> log_loss(np.array([0.5, 0.25, np.nan]), np.array([2.0, 1.0, 1.0])).without
    0.25
    """
    known = ~np.isnan(propensity)
    events = float(n[known].sum())
    logs = np.log(np.maximum(propensity[known], LEAST_PROPENSITY))
    return LogLoss(-float(n[known] @ logs) / events if events else np.nan, 1 - events / float(n.sum()))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Events by the propensity of their action, as expected and as they were.

    ``error``: half the sum of |expected - observed| over bins, the share of events that are in another bin than they
    should be: 0 where propensities are true, 1 at most. ``noise``: what true propensities would show on average, by
    chance. ``lower``: the lower edges of bins; ``expected``, ``observed``: shares of events. ``without``: the share of
    events that have no propensity and are left out.
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
    """Compare propensities of all (context, action) pairs with how often those were seen, in bins of the propensity.

    A bin expects ``sum of n_x * p(a|x)`` over its pairs, shown or not, and observes the events of its pairs. At most
    ``most`` rows are looked at, drawn as for learning.
    """
    seen = np.flatnonzero(n > 0)
    drawn, weights = draw(n[seen], most, np.random.default_rng(seed))
    rows = seen[drawn]
    taken, numbers, own = (
        contexts.combine_chunks().take(to_arrow(rows)),
        model.labels.numbers(actions)[rows],
        folds[rows],
    )
    bins = len(EDGES) + 1
    expected, observed, variance, total = np.zeros(bins), np.zeros(bins), np.zeros(bins), 0.0
    size = batch_size(len(model.labels))
    for start in range(0, len(rows), size):
        batch = np.arange(start, min(start + size, len(rows)))
        _, p = model.rows(taken.take(to_arrow(batch)), own[batch])
        shown = np.where(numbers[batch] >= 0, p[np.arange(len(batch)), numbers[batch]], np.nan)
        known = ~np.isnan(shown)
        p, weight = np.nan_to_num(p[known]), weights[batch][known]
        by_bin = _sums_in_bins(p, bins)
        expected += weight @ by_bin
        observed += np.bincount(_bins(shown[known]), weights=weight, minlength=bins)
        variance += (weight**2 / n[rows[batch]][known]) @ (by_bin * (1 - by_bin))
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
    """Sum every row's probabilities by their bins."""
    cells = np.arange(len(p))[:, None] * bins + _bins(p)
    sums = np.bincount(cells.ravel(), weights=p.ravel(), minlength=len(p) * bins)
    return np.asarray(sums, dtype=np.float64).reshape(len(p), bins)
