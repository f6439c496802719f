"""P_hat(e|x): which epochs a context comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.propensity.softmax import fit_softmax
from warmstart.propensity.training import LEAST_PROBABILITY, Fitted, HeldOutFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.training import PooledFit, Training

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Prior variances of coefficients.
VARIANCES = (0.001, 0.03, 1.0)
# Of the slope: smaller ones change the log-loss of a mixture by less than a thousandth.
TOLERANCE = 1e-3
# The largest rows x epochs of a fit, and the rows that are enough to choose a penalty on.
LARGEST_FIT, ROWS_TO_CHOOSE = 2_000_000, 5_000
# Contexts differ between epochs if the gain in held-out log-loss is more than this many standard errors.
STANDARD_ERRORS = 2.0
# Below this p-value for any column the classifier is tried.
LEVEL = 0.1


@dataclass(frozen=True, eq=False)
class EpochShares:
    """P(e|x): ``shares``, n_e / T, where contexts have the same distribution in every epoch; else a classifier's."""

    shares: Floats
    fitted: Fitted | None
    temperature: float

    @classmethod
    def learn(
        cls, pooled: PooledFit, training: Training, epochs: Ints, rng: np.random.Generator, *, final: bool = True
    ) -> Self:
        """Learn which epochs contexts come from; a classifier must beat n_e / T on held-out events.

        Args:
            pooled: The model of all epochs, with the events that it held out.
            training: All rows.
            epochs: The epoch of every row of the log, from 0.
            rng: Of samples.
            final: Fit to all rows in the end; else to those that were not held out.
        """
        count = int(epochs.max()) + 1
        most = max(LARGEST_FIT // count, 100)
        shares = _shares(training, epochs, count)
        if not _differ(training, epochs[training.ids], count):
            return cls(shares, None, 1.0)
        train, held_out = (_labelled(part, epochs) for part in (pooled.train, pooled.held_out))
        train = train.drawn(min(most, ROWS_TO_CHOOSE), rng)
        if len(np.unique(train.classes)) < 2:
            return cls(shares, None, 1.0)
        variance, best = _chosen(train, held_out)
        # The shares are of all rows: an epoch that more was held out of has less to learn from, so that shares of the
        # others alone would lose to anything flatter.
        plain = cls(shares, None, 1.0)
        if best is None or not _gains(cls(shares, best.fitted, best.temperature), plain, held_out):
            return plain
        fitted = best.fitted
        if final:
            rows = _labelled(training, epochs).drawn(most, rng)
            [fitted] = fit_softmax([rows], variance=variance, tolerance=TOLERANCE, starts=[fitted])
        return cls(shares, fitted, best.temperature)

    def probabilities(self, x: Matrix) -> Floats:
        """Return a row of probabilities of epochs for every context."""
        if self.fitted is None:
            return np.broadcast_to(self.shares, (x.shape[0], len(self.shares)))
        from scipy.special import softmax

        result = np.zeros((x.shape[0], len(self.shares)))
        result[:, self.fitted.classes] = softmax(self.temperature * self.fitted.log_probabilities(x), axis=1)
        return result


def _chosen(train: Training, held_out: Training) -> tuple[float, HeldOutFit | None]:
    """Return the variance that does best on held-out events, raised while that helps, and its fit; each fit begins
    with the one before.
    """
    chosen = VARIANCES[0]
    best: HeldOutFit | None = None
    for variance in VARIANCES if len(held_out.n) else ():
        starts = None if best is None else [best.fitted]
        [fitted] = fit_softmax([train], variance=variance, tolerance=TOLERANCE, starts=starts)
        tried = HeldOutFit.judged(fitted, held_out)
        if best is not None and tried.loss >= best.loss:
            break
        best, chosen = tried, variance
    return chosen, best


def _differ(training: Training, epochs: Ints, count: int) -> bool:
    """Tell whether the mean of any column differs between epochs by more than chance (chi-squared, Bonferroni).

    A regression sees no other differences, and where there are none it need not be tried.
    """
    from scipy import sparse
    from scipy.stats import chi2

    weights = training.sample_weight
    by_epoch = sparse.csr_matrix((weights, (epochs, np.arange(len(epochs)))), shape=(count, len(epochs)))
    events = np.bincount(epochs, weights=weights, minlength=count)
    sums, squares = (np.asarray(_dense(by_epoch @ part)) for part in (training.x, _squared(training.x)))
    mean = sums.sum(axis=0) / events.sum()
    variance = squares.sum(axis=0) / events.sum() - mean**2
    varying = variance > 1e-12 * np.maximum(mean**2, 1.0)
    shown = events > 0
    between = events[shown] @ (sums[shown] / events[shown][:, None] - mean) ** 2
    statistic = (between[varying] / variance[varying]).max(initial=0.0)
    return bool(chi2.sf(statistic, max(shown.sum() - 1, 1)) * max(varying.sum(), 1) < LEVEL)


def _dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _squared(matrix: Any) -> Any:
    return matrix**2 if isinstance(matrix, np.ndarray) else matrix.multiply(matrix)


def _labelled(training: Training, epochs: Ints) -> Training:
    return training.take(np.arange(len(training.n)), classes=epochs[training.ids])


def _shares(training: Training, epochs: Ints, count: int) -> Floats:
    events = np.bincount(epochs[training.ids], weights=training.weights, minlength=count)
    shares: Floats = events / events.sum()
    return shares


def _gains(one: EpochShares, other: EpochShares, rows: Training) -> bool:
    """Tell whether one has the smaller log-loss by more than chance, over events."""
    each = np.arange(len(rows.n))
    logs = [np.log(np.maximum(it.probabilities(rows.x)[each, rows.classes], LEAST_PROBABILITY)) for it in (one, other)]
    gains, weights = logs[0] - logs[1], rows.sample_weight
    mean = float(weights @ gains) / float(weights.sum())
    error = float(np.sqrt(weights @ (gains - mean) ** 2)) / float(weights.sum())
    return mean > STANDARD_ERRORS * error
