"""Imitators: one sharp classifier of the action an epoch, mixed with the pooled model and with exploration.

    pi_e(a|x) = w_e1 * imitator_e(a|x) + w_e2 * pooled(a|x) + w_e3 * [a shown in e] / (actions shown in e)

The weights of an epoch have the highest likelihood on held-out events, with those of all epochs together as prior: few
events or many actions move pi_e to the pooled model, exploration at random to the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.propensity.softmax import fit_softmax
from warmstart.propensity.training import LEAST_PROBABILITY, Fitted, best_temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.training import PooledFit, Training

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Prior variances of coefficients: the last let a classifier be as sharp as a deterministic logger.
SHARP = (0.1, 1.0, 4.0, 16.0, 64.0)
# An epoch of fewer events has no imitator; the prior of an epoch's weights counts as so many held-out events.
FEWEST_EVENTS, PRIOR = 10.0, 10.0
# The penalty is chosen on epochs of about so many rows together.
ROWS_TO_CHOOSE = 2_000
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
        variance, fitted = _choose(trainings, held_out, own, model)
        logs, known = _own_logs(fitted, held_out, own)
        power = 1.0
        if known.any():
            shown = held_out.classes[known]
            columns = np.unique(np.concatenate([held_out.classes, *(one.classes for one in fitted if one is not None)]))
            power = best_temperature(
                logs[known][:, columns], np.searchsorted(columns, shown), held_out.sample_weight[known]
            )[1]
        classes = pooled.fitted.classes
        uniform = _uniform(trainings, classes)
        weights = _weights(pooled, fitted, power, uniform, own)
        if final:
            rows = _by_epoch(training, epochs, count)
            large = [epoch for epoch, one in enumerate(fitted) if one is not None]
            fits = _fit([rows[epoch] for epoch in large], variance, model, [fitted[epoch] for epoch in large])
            for epoch, one in zip(large, fits, strict=True):
                fitted[epoch] = one
            uniform = _uniform(rows, classes)
        return cls(classes, tuple(fitted), power, weights, uniform)

    def mixed(self, x: Matrix, pooled: Floats, shares: Floats) -> Floats:
        """Return sum_e P(e|x) * pi_e(a|x) for rows: their pooled probabilities, and ``shares``, P(e|x)."""
        total: Floats = (shares @ self.weights[:, 1])[:, None] * pooled + (shares * self.weights[:, 2]) @ self.uniform
        for epoch, fitted in enumerate(self.fitted):
            if fitted is not None:
                columns = np.searchsorted(self.classes, fitted.classes)
                part = (shares[:, epoch] * self.weights[epoch, 0])[:, None]
                total[:, columns] += part * _powered(fitted.log_probabilities(x), self.power)
        return total


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


def _choose(
    trainings: list[Training], held_out: Training, own: Ints, model: Any
) -> tuple[float, list[Fitted | None]]:
    """Return the best penalty (variance) on held-out events of some epochs, and imitators of all epochs."""
    rows = np.array([len(part.n) for part in trainings])
    large = np.flatnonzero([float(part.weights.sum()) >= FEWEST_EVENTS for part in trainings])
    # Epochs from all over the log: in steps, so that they have enough rows together.
    tried = large[:: max(1, int(rows[large].sum() // ROWS_TO_CHOOSE))].tolist()
    best, variance = np.inf, SHARP[0]
    fitted: list[Fitted | None] = [None] * len(trainings)
    for candidate in SHARP if model is None else ():
        again: list[Fitted | None] = [None] * len(trainings)
        fits = _fit([trainings[epoch] for epoch in tried], candidate, None, [fitted[epoch] for epoch in tried])
        for epoch, one in zip(tried, fits, strict=True):
            again[epoch] = one
        logs, known = _own_logs(again, held_out, own)
        shown = logs[np.arange(len(logs)), held_out.classes]
        loss = -float(held_out.sample_weight[known] @ shown[known])
        if loss >= best:
            break
        best, variance, fitted = loss, candidate, again
    others = [epoch for epoch in large.tolist() if fitted[epoch] is None]
    for epoch, one in zip(others, _fit([trainings[epoch] for epoch in others], variance, model), strict=True):
        fitted[epoch] = one
    return variance, fitted


def _fit(
    parts: list[Training], variance: float, model: Any, starts: Sequence[Fitted | None] | None = None
) -> list[Fitted]:
    """Fit the user's classifier, or logistic regressions of a penalty, to every part."""
    if model is not None:
        return [Fitted.to(part, model) for part in parts]
    return fit_softmax(parts, variance=variance, tolerance=TOLERANCE, starts=starts)


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


def _weights(
    pooled: PooledFit, fitted: list[Fitted | None], power: float, uniform: Floats, own: Ints
) -> Floats:
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
