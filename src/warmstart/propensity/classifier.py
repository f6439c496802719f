"""Cross-fitted propensity model: a calibrated classifier of the action, for logs whose contexts rarely repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from warmstart.core import UsageError, to_arrow
from warmstart.features import ContextMatrix, KeyEncoder, other_folds
from warmstart.propensity.training import Candidates, Fitted, PooledFit, Training, batch_size, draw

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.mixture import EpochMixture

MOST_ROWS = 200_000
# The largest rows x actions of a fit: 240 MB an array.
LARGEST_FIT = 30_000_000
ROWS_TO_CHOOSE = 10_000


@dataclass(frozen=True, eq=False)
class PropensityModel:
    """pi_hat(a|x) for the actions ``labels``; ``learned``: for every fold, the model of the events of all others."""

    labels: KeyEncoder
    learned: dict[int, FoldModel]

    @property
    def absent(self) -> dict[int, int]:
        """Return by fold how many actions its model never saw; they have no propensity there."""
        return {fold: len(self.labels) - len(model.fitted.classes) for fold, model in self.learned.items()}

    @property
    def temperatures(self) -> dict[int, float]:
        """Return by fold the temperature, the power of its model's probabilities (below 1: it was overconfident)."""
        return {fold: model.temperature for fold, model in self.learned.items()}

    @property
    def converged(self) -> bool:
        """Return whether the optimiser of every model converged."""
        return all(model.fitted.converged for model in self.learned.values())

    @property
    def same_contexts(self) -> bool:
        """Return whether contexts are taken to have the same distribution in every epoch."""
        mixtures = [model.mixture for model in self.learned.values()]
        return all(mixture is None or mixture.shares.fitted is None for mixture in mixtures)

    @property
    def sampled(self) -> bool:
        """Return whether a model learned from a random sample of its rows."""
        return any(model.sampled for model in self.learned.values())

    def propensity(
        self, contexts: pa.Table, actions: pa.Array | pa.ChunkedArray, folds: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the out-of-fold propensity of every row's action; NaN for an action that the model never saw."""
        numbers = self.labels.numbers(actions)
        propensities = np.full(len(numbers), np.nan)
        for model, rows in self.batches(folds):
            places = model.fitted.places(numbers[rows])
            known = places >= 0
            probabilities = model.probabilities(contexts.take(to_arrow(rows)))
            propensities[rows[known]] = probabilities[np.flatnonzero(known), places[known]]
        return propensities

    def rows(self, contexts: pa.Table, folds: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.float64]]:
        """Return the actions, and a matrix of every row's propensities of all actions; meant for a batch of rows."""
        propensities = np.full((contexts.num_rows, len(self.labels)), np.nan)
        for model, rows in self.batches(folds):
            propensities[np.ix_(rows, model.fitted.classes)] = model.probabilities(contexts.take(to_arrow(rows)))
        return self.labels.values, propensities

    def batches(self, folds: NDArray[np.int64]) -> Iterator[tuple[FoldModel, NDArray[np.int64]]]:
        """Yield the model of each fold with rows of it, some at a time."""
        size = batch_size(len(self.labels))
        for fold in np.unique(folds).tolist():
            if fold not in self.learned:
                raise UsageError(f"Fold {fold} has no model.", f"Models were learned for {sorted(self.learned)}.")
            rows = np.flatnonzero(folds == fold)
            for start in range(0, len(rows), size):
                yield self.learned[fold], rows[start : start + size]


def learn_propensity(
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    n: NDArray[np.float64],
    folds: NDArray[np.int64],
    *,
    model: Any = None,
    temperature: float | None = None,
    seed: int = 0,
    most: int = MOST_ROWS,
    mix: Callable[[PooledFit, Training, np.random.Generator, Any], EpochMixture] | None = None,
) -> PropensityModel:
    """Fit a propensity model with cross-fitting: for every fold, a classifier learned from all other folds.

    Its probabilities are calibrated by temperature scaling, ``p^t / sum of p^t``, with the t of highest likelihood on a
    held-out fifth of the events.

    Args:
        contexts: The context columns, one row per cell and fold.
        actions: The action of every row.
        n: The events of every row.
        folds: The fold of every row.
        model: A scikit-learn classifier, cloned; without one, a multinomial logistic regression whose penalty is
            chosen on held-out events.
        temperature: The t of all folds, instead of fitting it.
        seed: Of samples and held-out events.
        most: Learn from at most this many rows (fewer with many actions), sampled without bias (see ``draw``).
        mix: Learns a mixture over epochs from a fold's model, its rows, a generator, and the user's own classifier.
    """
    labels = KeyEncoder.of(actions)
    numbers = labels.numbers(actions)
    contexts = contexts.combine_chunks()
    candidates = Candidates.of(model, seed)
    learned = {}
    with one_thread():
        for fold, others in other_folds(n, folds):
            rng = np.random.default_rng([seed, fold])
            matrix, training = training_rows(contexts, numbers, n, others, rng, most=most)
            pooled = PooledFit.learn(training, candidates, rng, most=ROWS_TO_CHOOSE, power=temperature)
            sampled = len(training.n) < len(others)
            mixture = None if mix is None else mix(pooled, training, rng, candidates.given)
            learned[fold] = FoldModel(matrix, pooled.fitted, pooled.temperature, sampled, mixture)
    return PropensityModel(labels, learned)


def one_thread() -> Any:
    """Limit BLAS to one thread: more of them wait for each other in the optimiser's many short steps.

    On two cores in use, ten thousand rows of four hashed columns took 148 seconds with all threads and 6 with one.
    """
    return threadpool_limits(limits=1, user_api="blas")


def training_rows(
    contexts: pa.Table,
    numbers: NDArray[np.int64],
    n: NDArray[np.float64],
    rows: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    most: int = MOST_ROWS,
) -> tuple[ContextMatrix, Training]:
    """Return how contexts become numbers, and the rows to learn from, sampled where there are too many.

    Args:
        contexts: The context columns of all rows.
        numbers: The class of every row.
        n: The events of every row.
        rows: Those that may be learned from.
        rng: Of the sample.
        most: At most so many rows, fewer with many classes.
    """
    limit = min(most, LARGEST_FIT // len(np.unique(numbers[rows])))
    drawn, weights = draw(n[rows], limit, rng)
    used = rows[drawn]
    taken = contexts.take(to_arrow(used))
    matrix = ContextMatrix.learn(taken, weights)
    return matrix, Training(matrix.apply(taken), numbers[used], n[used], weights, used)


@dataclass(frozen=True, eq=False)
class FoldModel:
    """The model of one fold: context encoding, classifier, temperature (power of its probabilities), epochs if any."""

    matrix: ContextMatrix
    fitted: Fitted
    temperature: float
    sampled: bool
    mixture: EpochMixture | None = None

    def probabilities(self, contexts: pa.Table) -> NDArray[np.float64]:
        """Return a row of probabilities for every context, in the order of the classifier's classes."""
        x = self.matrix.apply(contexts)
        return self.pooled(x) if self.mixture is None else self.mixture.mixed(x, self.pooled(x))

    def within_epochs(self, contexts: pa.Table, epochs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same, and the probabilities in the epoch of every row: [2, row, class]."""
        x = self.matrix.apply(contexts)
        pooled = self.pooled(x)
        if self.mixture is None:
            return np.stack([pooled, pooled])
        return np.stack([self.mixture.mixed(x, pooled), self.mixture.imitators.own(x, pooled, epochs)])

    def pooled(self, x: Matrix) -> NDArray[np.float64]:
        """Return the probabilities of the classifier of all epochs."""
        from scipy.special import softmax

        probabilities: NDArray[np.float64] = softmax(self.temperature * self.fitted.log_probabilities(x), axis=1)
        return probabilities
