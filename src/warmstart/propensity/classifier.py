"""Cross-fitted propensity model: a calibrated classifier of the action, for logs whose contexts rarely repeat."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core import UsageError, to_arrow
from warmstart.features import ContextMatrix, KeyEncoder, other_folds, scikit_learn, weighted_copy

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.features import Matrix

MOST_ROWS = 200_000
# The largest rows x actions of a fit, and of a batch of predictions: 240 and 48 MB an array.
LARGEST_FIT, LARGEST_BATCH = 30_000_000, 6_000_000
MOST_IN_A_BATCH = 20_000
# Prior variances of coefficients (scikit-learn's C), for columns of spread 1.
VARIANCES = (0.01, 0.1, 1.0, 10.0)
ROWS_TO_CHOOSE = 10_000
MOST_STEPS = 300
HELD_OUT = 0.2
LEAST_PROBABILITY = 1e-12
# Prior standard deviation of the log temperature around 0, for when few events are held out.
TEMPERATURE_SPREAD = 0.5
TEMPERATURES = (0.05, 5.0)


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
    def sampled(self) -> bool:
        """Return whether a model learned from a random sample of its rows."""
        return any(model.sampled for model in self.learned.values())

    def propensity(
        self, contexts: pa.Table, actions: pa.Array | pa.ChunkedArray, folds: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the out-of-fold propensity of every row's action; NaN for an action that the model never saw."""
        numbers = self.labels.numbers(actions)
        propensities = np.full(len(numbers), np.nan)
        for model, rows in self._batches(folds):
            places = model.fitted.places(numbers[rows])
            known = places >= 0
            probabilities = model.probabilities(contexts.take(to_arrow(rows)))
            propensities[rows[known]] = probabilities[np.flatnonzero(known), places[known]]
        return propensities

    def rows(self, contexts: pa.Table, folds: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.float64]]:
        """Return the actions, and a matrix of every row's propensities of all actions; meant for a batch of rows."""
        propensities = np.full((contexts.num_rows, len(self.labels)), np.nan)
        for model, rows in self._batches(folds):
            propensities[np.ix_(rows, model.fitted.classes)] = model.probabilities(contexts.take(to_arrow(rows)))
        return self.labels.values, propensities

    def _batches(self, folds: NDArray[np.int64]) -> Iterator[tuple[FoldModel, NDArray[np.int64]]]:
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
    """
    labels = KeyEncoder.of(actions)
    numbers = labels.numbers(actions)
    contexts = contexts.combine_chunks()
    candidates = _candidates(model, seed)
    learned = {}
    for fold, others in other_folds(n, folds):
        rng = np.random.default_rng([seed, fold])
        limit = min(most, LARGEST_FIT // len(np.unique(numbers[others])))
        drawn, weights = draw(n[others], limit, rng)
        rows = others[drawn]
        taken = contexts.take(to_arrow(rows))
        matrix = ContextMatrix.learn(taken, weights)
        training = _Training(matrix.apply(taken), numbers[rows], n[rows], weights)
        classifier = _best(candidates, training.drawn(ROWS_TO_CHOOSE, rng), rng)
        power = _held_out_fit(classifier, *training.split(rng))[1] if temperature is None else temperature
        learned[fold] = FoldModel(matrix, Fitted.to(training, classifier), power, len(rows) < len(others))
    return PropensityModel(labels, learned)


def draw(n: NDArray[np.float64], most: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return at most ``most`` rows sampled in proportion to n (systematic sampling), and their unbiased weights.

    A row is drawn with probability ``min(1, n / step)`` and weighs ``n`` over that, n in expectation: rows of many
    events are always drawn and weigh n, the others weigh ``step`` each.
    """
    if len(n) <= most:
        return np.arange(len(n)), n.copy()
    descending = -np.sort(-n)
    rest = np.cumsum(descending[::-1])[::-1][:most]
    steps = rest / np.arange(most, 0, -1)
    step = steps[np.argmax(descending[:most] <= steps)]
    chances = np.minimum(1.0, n / step)
    order = rng.permutation(len(n))
    passed = np.floor(np.cumsum(chances[order]) + rng.random())
    rows = np.sort(order[np.diff(passed, prepend=0.0) > 0])
    return rows, n[rows] / chances[rows]


def batch_size(actions: int) -> int:
    """Return how many rows to predict at once, given the number of actions."""
    return max(1, min(MOST_IN_A_BATCH, LARGEST_BATCH // max(actions, 1)))


@dataclass(frozen=True, eq=False)
class FoldModel:
    """The model of one fold: context encoding, classifier, and temperature (power of its probabilities)."""

    matrix: ContextMatrix
    fitted: Fitted
    temperature: float
    sampled: bool

    def probabilities(self, contexts: pa.Table) -> NDArray[np.float64]:
        """Return a row of probabilities for every context, in the order of the classifier's classes."""
        from scipy.special import softmax

        logs = self.fitted.log_probabilities(self.matrix.apply(contexts))
        probabilities: NDArray[np.float64] = softmax(self.temperature * logs, axis=1)
        return probabilities


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted classifier and the action numbers of its columns; None where there is a single action."""

    classes: NDArray[np.int64]
    classifier: Any
    converged: bool

    @classmethod
    def to(cls, training: _Training, classifier: Any) -> Self:
        """Fit a copy of a classifier; record whether it converged instead of warning."""
        classes = np.unique(training.classes)
        if len(classes) < 2:
            return cls(classes, None, True)
        not_converged = scikit_learn("exceptions").ConvergenceWarning
        copy = scikit_learn("base").clone(classifier)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", not_converged)
            copy.fit(training.x, training.classes, sample_weight=training.sample_weight)
        for warning in caught:
            if not issubclass(warning.category, not_converged):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        failed = any(issubclass(warning.category, not_converged) for warning in caught)
        return cls(np.asarray(copy.classes_, dtype=np.int64), copy, not failed)

    def log_probabilities(self, x: Matrix) -> NDArray[np.float64]:
        """Return the logarithms of the classifier's probabilities."""
        if self.classifier is None:
            return np.zeros((x.shape[0], len(self.classes)))
        return np.log(np.maximum(np.asarray(self.classifier.predict_proba(x), dtype=np.float64), LEAST_PROBABILITY))

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the classifier's columns of actions, -1 for an action that it never saw."""
        columns = np.full(max(self.classes.max(initial=-1), numbers.max(initial=-1)) + 2, -1)
        columns[self.classes] = np.arange(len(self.classes))
        # Unknown actions have number -1, the last entry, which is never a class.
        return columns[numbers]


@dataclass(frozen=True, eq=False)
class _Training:
    """Training rows of ``n`` events each, which weigh as ``weights`` events."""

    x: Matrix
    classes: NDArray[np.int64]
    n: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """Return the weights scaled to the effective sample size: n if no row was left out.

        The penalty is relative to this sum, and a row that stands for more events carries no more information.
        """
        squares = max(float((self.weights**2 / self.n).sum()), np.finfo(float).tiny)
        scaled: NDArray[np.float64] = self.weights * (float(self.weights.sum()) / squares)
        return scaled

    def drawn(self, most: int, rng: np.random.Generator) -> _Training:
        """Return a sample of at most ``most`` rows."""
        rows, weights = draw(self.weights, most, rng)
        return _Training(self.x[rows], self.classes[rows], self.n[rows], weights)

    def shared(self, shares: NDArray[np.float64]) -> _Training:
        """Return a share of every row's events."""
        rows = np.flatnonzero(shares > 0)
        part = shares[rows]
        return _Training(self.x[rows], self.classes[rows], self.n[rows] * part, self.weights[rows] * part)

    def split(self, rng: np.random.Generator) -> tuple[_Training, _Training]:
        """Return training and held-out events: a fifth, at most a batch, drawn event by event; rows may be in both."""
        events = np.maximum(np.round(self.n), 1).astype(np.int64)
        share = rng.binomial(events, HELD_OUT) / events
        return self.shared(1 - share), self.shared(share).drawn(batch_size(len(np.unique(self.classes))), rng)


def _candidates(model: Any, seed: int) -> Sequence[Any]:
    if model is None:
        regression = scikit_learn("linear_model").LogisticRegression
        return [regression(C=variance, max_iter=MOST_STEPS) for variance in VARIANCES]
    if not hasattr(model, "predict_proba"):
        raise UsageError(f"{type(model).__name__} has no predict_proba.", "Pass a classifier that has.")
    return [weighted_copy(model, seed)]


def _best(candidates: Sequence[Any], training: _Training, rng: np.random.Generator) -> Any:
    """Return the best classifier on held-out events; try the most penalised first, stop when one does worse."""
    if len(candidates) == 1:
        return candidates[0]
    train, held_out = training.split(rng)
    best, least = candidates[0], np.inf
    for candidate in candidates:
        loss, _ = _held_out_fit(candidate, train, held_out)
        if loss >= least:
            break
        best, least = candidate, loss
    return best


def _held_out_fit(classifier: Any, train: _Training, held_out: _Training) -> tuple[float, float]:
    """Return the penalised log loss on held-out events at the best temperature, and that temperature."""
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    if not len(train.n) or not len(held_out.n):
        return np.inf, 1.0
    fitted = Fitted.to(train, classifier)
    known = held_out.shared(np.isin(held_out.classes, fitted.classes).astype(np.float64))
    if not len(known.n):
        return np.inf, 1.0
    logs = fitted.log_probabilities(known.x)
    shown = logs[np.arange(len(logs)), fitted.places(known.classes)]
    weights = known.sample_weight

    def loss(log_power: float) -> float:
        power = np.exp(log_power)
        likelihood = weights @ (power * shown - logsumexp(power * logs, axis=1))
        return float((log_power / TEMPERATURE_SPREAD) ** 2 / 2 - likelihood)

    best = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return float(best.fun), float(np.exp(best.x))
