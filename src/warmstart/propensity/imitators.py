"""Imitators: one sharp classifier of the action an epoch, mixed with the pooled model and with exploration.

    pi_e(a|x) = w_e1 * imitator_e(a|x) + w_e2 * pooled(a|x) + w_e3 * [a shown in e] / (actions shown in e)

The weights of an epoch have the highest likelihood on held-out events, with those of all epochs together as prior: few
events or many actions move pi_e to the pooled model, exploration at random to the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from warmstart.propensity.softmax import fit_softmax
from warmstart.propensity.training import LEAST_PROBABILITY, Fitted, best_temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.training import PooledFit, Training

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Prior variances of coefficients: the last let a classifier be as sharp as a deterministic logger. A flat one is tried
# where none of these helps.
SHARP, FLAT = (1.0, 4.0, 16.0, 64.0), 0.1
# Shares of events that an imitator may take for exploration at random.
EXPLORED = (0.03, 0.1, 0.2, 0.35)
# An epoch of fewer events has no imitator; the prior of an epoch's weights counts as so many held-out events.
FEWEST_EVENTS, PRIOR = 10.0, 10.0
# The penalty is chosen on epochs of about so many rows together.
ROWS_TO_CHOOSE = 1_000
MOST_ROUNDS, CLOSE = 200, 1e-5
# Of the slope: smaller ones change held-out losses in the third digit.
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Imitators:
    """pi_e(a|x) of every epoch, over the ``classes`` of the pooled model.

    ``fitted``: by epoch, None where it has too few events. ``power``: the temperature of all. ``weights``: by epoch, of
    the imitator, the pooled model and ``uniform``, the uniform distribution over what the epoch showed.
    """

    classes: Ints
    fitted: tuple[Fitted | None, ...]
    power: float
    weights: Floats
    uniform: Floats

    @classmethod
    def learn(
        cls, pooled: PooledFit, training: Training, epochs: Ints, model: Any = None, *, final: bool = True
    ) -> Self:
        """Learn imitators and weights for the numbered epochs.

        Args:
            pooled: The model of all epochs, with the events that it held out.
            training: All rows.
            epochs: The epoch of every row of the log, from 0.
            model: A scikit-learn classifier to clone; without one, logistic regressions that can be sharp.
            final: Fit to all rows in the end; else to those that were not held out, which is enough to compare.
        """
        count = int(epochs.max()) + 1
        trainings = _by_epoch(pooled.train, epochs, count)
        held_out, own = pooled.held_out, epochs[pooled.held_out.ids]
        sharpness, fitted = _choose(trainings, held_out, own, model)
        logs, known = _own_logs(fitted, held_out, own)
        classes = pooled.fitted.classes
        uniform = _uniform(trainings, classes)
        power = 1.0
        if known.any():
            rest = sharpness.explore * uniform[own, np.searchsorted(classes, held_out.classes)][known]
            places = held_out.classes[known]
            weights = held_out.sample_weight[known]
            power = best_temperature(logs[known], places, weights, share=1 - sharpness.explore, rest=rest)[1]
        weights = _weights(pooled, fitted, power, uniform, own)
        if final:
            rows = _by_epoch(training, epochs, count)
            large = [epoch for epoch, one in enumerate(fitted) if one is not None]
            fits = _fit([rows[epoch] for epoch in large], sharpness, model, [fitted[epoch] for epoch in large])
            for epoch, one in zip(large, fits, strict=True):
                fitted[epoch] = one
            uniform = _uniform(rows, classes)
        return cls(classes, tuple(fitted), power, weights, uniform)

    def mixed(self, x: Matrix, pooled: Floats, shares: Floats) -> Floats:
        """Return sum_e P(e|x) * pi_e(a|x) for rows: their pooled probabilities, and ``shares``, P(e|x)."""
        total: Floats = (shares @ self.weights[:, 1])[:, None] * pooled + (shares * self.weights[:, 2]) @ self.uniform
        for epoch, fitted in enumerate(self.fitted):
            if fitted is not None and shares[:, epoch].any():
                columns = np.searchsorted(self.classes, fitted.classes)
                part = (shares[:, epoch] * self.weights[epoch, 0])[:, None]
                total[:, columns] += part * _powered(fitted.log_probabilities(x), self.power)
        return total

    def own(self, x: Matrix, pooled: Floats, epochs: Ints) -> Floats:
        """Return pi_e(a|x) of every row's own epoch, given the pooled probabilities."""
        result = np.empty_like(pooled)
        for epoch in np.unique(epochs).tolist():
            among = epochs == epoch
            shares = np.zeros((int(among.sum()), len(self.fitted)))
            shares[:, epoch] = 1.0
            result[among] = self.mixed(x[among], pooled[among], shares)
        return result


def mixing_weights(densities: Floats, events: Floats, prior: Floats) -> Floats:
    """Return the weights of a mixture of known densities with the highest posterior (EM).

    Args:
        densities: A row for every observation, a column for every part of the mixture.
        events: The events of every observation.
        prior: The events that are counted for every part beforehand.
    """
    weights: Floats = prior / prior.sum()
    for _ in range(MOST_ROUNDS):
        parts = densities * weights
        parts /= np.maximum(parts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        again = events @ parts + prior
        again /= again.sum()
        if np.abs(again - weights).max() < CLOSE:
            return again
        weights = again
    return weights


def _by_epoch(training: Training, epochs: Ints, count: int) -> list[Training]:
    own = epochs[training.ids]
    order = np.argsort(own, kind="stable")
    ends = np.cumsum(np.bincount(own, minlength=count))
    return [training.take(order[start:stop]) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


class Sharpness(NamedTuple):
    """The prior variance of an imitator's coefficients, and the share of events that it takes for exploration."""

    variance: float = SHARP[0]
    explore: float = 0.0


def _choose(
    trainings: list[Training], held_out: Training, own: Ints, model: Any
) -> tuple[Sharpness, list[Fitted | None]]:
    """Return the best sharpness on held-out events of some epochs, and imitators of all epochs.

    The variance is raised while that helps, then exploration, then the variance again: without exploration an imitator
    of few random events is flat, so that none looks sharp.
    """
    rows = np.array([len(part.n) for part in trainings])
    large = np.flatnonzero([float(part.weights.sum()) >= FEWEST_EVENTS for part in trainings])
    # Epochs from all over the log: in steps, so that they have enough rows together.
    tried = large[:: max(1, int(rows[large].sum() // ROWS_TO_CHOOSE))].tolist()
    best = _Tried(Sharpness(), [None] * len(trainings), np.inf)
    if model is None and tried:
        judge = _Judge(trainings, tried, held_out, own)
        best = judge.first_rise([Sharpness(variance) for variance in SHARP], best)
        if best.sharpness.variance == SHARP[0]:
            best = judge.first_rise([Sharpness(FLAT)], best)
        explored = [Sharpness(best.sharpness.variance, explore) for explore in EXPLORED]
        best = judge.first_rise(explored, best)
        if best.sharpness.explore:
            higher = [variance for variance in SHARP if variance > best.sharpness.variance]
            best = judge.first_rise([Sharpness(variance, best.sharpness.explore) for variance in higher], best)
    fitted = list(best.fitted)
    others = [epoch for epoch in large.tolist() if fitted[epoch] is None]
    for epoch, one in zip(others, _fit([trainings[epoch] for epoch in others], best.sharpness, model), strict=True):
        fitted[epoch] = one
    return best.sharpness, fitted


class _Tried(NamedTuple):
    sharpness: Sharpness
    fitted: list[Fitted | None]
    loss: float


@dataclass(frozen=True, eq=False)
class _Judge:
    """Some epochs' events that were held out, to judge their imitators by."""

    trainings: list[Training]
    epochs: list[int]
    held_out: Training
    own: Ints

    def first_rise(self, candidates: Sequence[Sharpness], best: _Tried) -> _Tried:
        """Return the best of the candidates before the first that does no better than the one before it."""
        for candidate in candidates:
            tried = self._tried(candidate, best.fitted)
            if not tried.loss < best.loss:
                return best
            best = tried
        return best

    def _tried(self, sharpness: Sharpness, starts: list[Fitted | None]) -> _Tried:
        parts, begin = [self.trainings[epoch] for epoch in self.epochs], [starts[epoch] for epoch in self.epochs]
        fitted: list[Fitted | None] = [None] * len(self.trainings)
        for epoch, one in zip(self.epochs, _fit(parts, sharpness, None, begin), strict=True):
            fitted[epoch] = one
        logs, known = _own_logs(fitted, self.held_out, self.own)
        kinds = np.array([1 if one is None else len(one.classes) for one in fitted])[self.own]
        shown = np.exp(logs[np.arange(len(logs)), self.held_out.classes])
        density = (1 - sharpness.explore) * shown + sharpness.explore / kinds
        loss = -float(self.held_out.sample_weight[known] @ np.log(density[known])) if known.any() else np.inf
        return _Tried(sharpness, fitted, loss)


def _fit(
    parts: list[Training], sharpness: Sharpness, model: Any, starts: Sequence[Fitted | None] | None = None
) -> list[Fitted]:
    """Fit the user's classifier, or logistic regressions of a sharpness, to every part."""
    if model is not None:
        return [Fitted.to(part, model) for part in parts]
    variance, explore = sharpness
    return fit_softmax(parts, variance=variance, explore=explore, tolerance=TOLERANCE, starts=starts)


def _own_logs(fitted: list[Fitted | None], rows: Training, own: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Return log probabilities by their own epoch's imitator, and which rows' actions this one knows."""
    last = max([int(rows.classes.max(initial=0)), *(int(one.classes.max()) for one in fitted if one is not None)])
    logs = np.full((len(rows.n), last + 1), np.log(LEAST_PROBABILITY))
    known = np.zeros(len(rows.n), dtype=bool)
    for epoch in np.unique(own).tolist():
        one = fitted[epoch]
        if one is not None:
            among = np.flatnonzero(own == epoch)
            logs[np.ix_(among, one.classes)] = one.log_probabilities(rows.x[among])
            known[among] = np.isin(rows.classes[among], one.classes)
    return logs, known


def _weights(pooled: PooledFit, fitted: list[Fitted | None], power: float, uniform: Floats, own: Ints) -> Floats:
    """Return by epoch the weights of imitator, pooled model and uniform choice."""
    rows = pooled.held_out
    each = np.arange(len(rows.n))
    densities = np.zeros((len(rows.n), 3))
    logs = pooled.inner.log_probabilities(rows.x)
    places = pooled.inner.places(rows.classes)
    densities[:, 1] = np.where(places >= 0, _powered(logs, pooled.temperature)[each, places], 0.0)
    columns = np.searchsorted(pooled.fitted.classes, rows.classes)
    densities[:, 2] = uniform[own, columns]
    for epoch in np.unique(own).tolist():
        one = fitted[epoch]
        if one is not None:
            among = np.flatnonzero(own == epoch)
            places = one.places(rows.classes[among])
            shown = _powered(one.log_probabilities(rows.x[among]), power)[np.arange(len(among)), places]
            densities[among, 0] = np.where(places >= 0, shown, 0.0)
    events = rows.sample_weight
    overall = mixing_weights(densities, events, np.ones(3) / 3)
    weights = np.tile(overall, (len(fitted), 1))
    for epoch, one in enumerate(fitted):
        among = own == epoch
        if one is None:
            weights[epoch] = (0.0, overall[0] + overall[1], overall[2])
        elif among.any():
            weights[epoch] = mixing_weights(densities[among], events[among], PRIOR * overall)
    # What no event of an epoch was learned from has no uniform distribution.
    nothing = uniform.sum(axis=1) == 0
    weights[nothing] = (0.0, 1.0, 0.0)
    return weights


def _uniform(trainings: list[Training], classes: Ints) -> Floats:
    uniform = np.zeros((len(trainings), len(classes)))
    for epoch, part in enumerate(trainings):
        shown = np.unique(part.classes)
        uniform[epoch, np.searchsorted(classes, shown)] = 1 / max(len(shown), 1)
    return uniform


def _powered(logs: Floats, power: float) -> Floats:
    from scipy.special import softmax

    probabilities: Floats = softmax(power * logs, axis=1)
    return probabilities
