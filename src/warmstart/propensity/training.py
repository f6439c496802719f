"""Fitting classifiers to weighted rows: samples, held-out events, penalties, temperatures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core import UsageError
from warmstart.features import scikit_learn, users_model, weighted_copy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import Matrix

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# The largest rows x actions of a batch of predictions: 48 MB an array.
LARGEST_BATCH = 6_000_000
MOST_IN_A_BATCH = 20_000
# Prior variances of coefficients (scikit-learn's C), for columns of spread 1.
VARIANCES = (0.01, 0.1, 1.0, 10.0)
MOST_STEPS = 300
# The optimiser's tolerance where models are only compared.
ROUGH = 1e-3
HELD_OUT = 0.2
LEAST_PROBABILITY = 1e-12
# Prior standard deviation of the log temperature around 0, for when few events are held out.
TEMPERATURE_SPREAD = 0.5
TEMPERATURES = (0.05, 5.0)


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows of ``n`` events each, which weigh as ``weights`` events; ``ids``: their places among all rows."""

    x: Matrix
    classes: Ints
    n: Floats
    weights: Floats
    ids: Ints

    @property
    def sample_weight(self) -> Floats:
        """Return the weights scaled to the effective sample size: n if no row was left out.

        The penalty is relative to this sum, and a row that stands for more events carries no more information.
        """
        squares = max(float((self.weights**2 / self.n).sum()), np.finfo(float).tiny)
        scaled: Floats = self.weights * (float(self.weights.sum()) / squares)
        return scaled

    def take(self, rows: Ints, *, classes: Ints | None = None) -> Training:
        """Return some rows, with other classes if they are given."""
        labels = self.classes[rows] if classes is None else classes
        return Training(self.x[rows], labels, self.n[rows], self.weights[rows], self.ids[rows])

    def drawn(self, most: int, rng: np.random.Generator) -> Training:
        """Return a sample of at most ``most`` rows."""
        rows, weights = draw(self.weights, most, rng)
        return Training(self.x[rows], self.classes[rows], self.n[rows], weights, self.ids[rows])

    def shared(self, shares: Floats) -> Training:
        """Return a share of every row's events."""
        rows = np.flatnonzero(shares > 0)
        part = shares[rows]
        return Training(
            self.x[rows], self.classes[rows], self.n[rows] * part, self.weights[rows] * part, self.ids[rows]
        )

    def split(self, rng: np.random.Generator) -> tuple[Training, Training]:
        """Return training and held-out events: a fifth, at most a batch, drawn event by event; rows may be in both."""
        events = np.maximum(np.round(self.n), 1).astype(np.int64)
        share = rng.binomial(events, HELD_OUT) / events
        return self.shared(1 - share), self.shared(share).drawn(batch_size(len(np.unique(self.classes))), rng)


def draw(n: Floats, most: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
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
class Fitted:
    """A fitted classifier and the class numbers of its columns; None where there is a single class."""

    classes: Ints
    classifier: Any
    converged: bool

    @classmethod
    def to(cls, training: Training, classifier: Any) -> Self:
        """Fit a copy of a classifier; record whether it converged instead of warning."""
        classes = np.unique(training.classes)
        if len(classes) < 2:
            return cls(classes, None, True)
        not_converged = scikit_learn("exceptions").ConvergenceWarning
        copy = scikit_learn("base").clone(classifier)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", not_converged)
            with users_model(copy):
                copy.fit(training.x, training.classes, sample_weight=training.sample_weight)
        for warning in caught:
            if not issubclass(warning.category, not_converged):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        failed = any(issubclass(warning.category, not_converged) for warning in caught)
        return cls(np.asarray(copy.classes_, dtype=np.int64), copy, not failed)

    def log_probabilities(self, x: Matrix) -> Floats:
        """Return the logarithms of the classifier's probabilities."""
        if self.classifier is None:
            return np.zeros((x.shape[0], len(self.classes)))
        with users_model(self.classifier):
            probabilities = np.asarray(self.classifier.predict_proba(x), dtype=np.float64)
        return np.log(np.maximum(probabilities, LEAST_PROBABILITY))

    def places(self, numbers: Ints) -> Ints:
        """Return the classifier's columns of classes, -1 for a class that it never saw."""
        columns = np.full(max(self.classes.max(initial=-1), numbers.max(initial=-1)) + 2, -1)
        columns[self.classes] = np.arange(len(self.classes))
        # Unknown classes have number -1, the last entry, which is never a class.
        return columns[numbers]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Classifiers to choose from, the most penalised first; ``rough``: the same ones, which stop earlier.

    ``given``: the user's own.
    """

    final: Sequence[Any]
    rough: Sequence[Any]
    given: Any = None

    @classmethod
    def of(cls, model: Any, seed: int, variances: Sequence[float] = VARIANCES) -> Self:
        """Return the user's own classifier, or multinomial logistic regressions of several penalties."""
        if model is None:
            regression = scikit_learn("linear_model").LogisticRegression
            final = [regression(C=variance, max_iter=MOST_STEPS) for variance in variances]
            return cls(final, [regression(C=variance, max_iter=MOST_STEPS, tol=ROUGH) for variance in variances])
        if not hasattr(model, "predict_proba"):
            raise UsageError(f"{type(model).__name__} has no predict_proba.", "Pass a classifier that has.")
        copy = weighted_copy(model, seed)
        return cls([copy], [copy], copy)


@dataclass(frozen=True, eq=False)
class HeldOutFit:
    """A classifier fitted to a part of the events, and how it does on the others at its best temperature."""

    fitted: Fitted
    loss: float
    temperature: float

    @classmethod
    def of(cls, classifier: Any, train: Training, held_out: Training) -> Self:
        """Fit a classifier, and judge it."""
        return cls.judged(Fitted.to(train, classifier), held_out)

    @classmethod
    def judged(cls, fitted: Fitted, held_out: Training) -> Self:
        """Return how a classifier does on held-out events; classes that it never saw are left out of the loss."""
        known = held_out.shared(np.isin(held_out.classes, fitted.classes).astype(np.float64))
        if not len(known.n):
            return cls(fitted, np.inf, 1.0)
        logs = fitted.log_probabilities(known.x)
        return cls(fitted, *best_temperature(logs, fitted.places(known.classes), known.sample_weight))


def best_temperature(
    logs: Floats, places: Ints, weights: Floats, *, share: float = 1.0, rest: Floats | float = 0.0
) -> tuple[float, float]:
    """Return the penalised log loss at the best power of probabilities, and that power (temperature scaling).

    Args:
        logs: The logarithms of probabilities, a row for every held-out row.
        places: The column of what was shown.
        weights: The events of every row.
        share: Of events that come from these probabilities.
        rest: The probability of every row's action by what else there is, such as exploration.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    shown = logs[np.arange(len(logs)), places]

    def loss(log_power: float) -> float:
        power = np.exp(log_power)
        likelihood = weights @ np.log(share * np.exp(power * shown - logsumexp(power * logs, axis=1)) + rest)
        return float((log_power / TEMPERATURE_SPREAD) ** 2 / 2 - likelihood)

    best = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return float(best.fun), float(np.exp(best.x))


def choose(candidates: Sequence[Any], train: Training, held_out: Training) -> tuple[int, HeldOutFit | None]:
    """Return the place of the best classifier on held-out events, and its fit; stop when one does worse.

    No fit where nothing could be held out.
    """
    if not len(train.n) or not len(held_out.n):
        return 0, None
    place, best = 0, HeldOutFit.of(candidates[0], train, held_out)
    for i, candidate in enumerate(candidates[1:], 1):
        tried = HeldOutFit.of(candidate, train, held_out)
        if tried.loss >= best.loss:
            break
        place, best = i, tried
    return place, best


@dataclass(frozen=True, eq=False)
class PooledFit:
    """One classifier of all training rows, and what was held out to choose it.

    ``place``: among the candidates. ``inner``: the classifier of ``train`` alone, so that ``held_out`` can judge it.
    """

    fitted: Fitted
    inner: Fitted
    temperature: float
    place: int
    train: Training
    held_out: Training

    @classmethod
    def learn(
        cls, training: Training, candidates: Candidates, rng: np.random.Generator, *, most: int, power: float | None
    ) -> Self:
        """Choose a penalty and a temperature on held-out events, then fit to all.

        Args:
            training: The rows.
            candidates: The classifiers.
            rng: Of the events held out.
            most: Choose the penalty on a sample of at most so many rows.
            power: The temperature, instead of choosing it.
        """
        whole = training.split(rng)
        place, best = 0, None
        if len(candidates.rough) > 1:
            parts = whole if len(training.n) <= most else training.drawn(most, rng).split(rng)
            place, best = choose(candidates.rough, *parts)
            best = best if parts is whole else None
        if best is None and power is None and all(len(part.n) for part in whole):
            best = HeldOutFit.of(candidates.rough[place], *whole)
        fitted = Fitted.to(training, candidates.final[place])
        temperature = power if power is not None else best.temperature if best is not None else 1.0
        return cls(fitted, fitted if best is None else best.fitted, temperature, place, *whole)
