"""Many small multinomial logistic regressions at once, one for every group of rows.

scikit-learn spends most of a small fit outside the arithmetic, and a mixture over epochs needs hundreds of them. Here
the steps of L-BFGS are taken for all groups together; each group has its own direction, step length and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmstart.propensity.training import MOST_STEPS, Fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.training import Training

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MEMORY = 10
# Floats that the steps of one batch of groups may take: 160 MB.
LARGEST_BATCH = 20_000_000
# Armijo's rule: a step must gain this share of what the slope promises, or is shortened.
GAIN, SHORTER, MOST_TRIES = 1e-4, 0.4, 20


@dataclass(frozen=True, eq=False)
class Softmax:
    """A fitted multinomial logistic regression; ``coefficients``: a row for every column of x and the intercept."""

    coefficients: Floats

    def predict_proba(self, x: Matrix) -> Floats:
        """Return a row of probabilities for every row of x."""
        from scipy.special import softmax

        result: Floats = softmax(x @ self.coefficients[:-1] + self.coefficients[-1], axis=1)
        return result


def fit_softmax(
    parts: Sequence[Training],
    *,
    variance: float,
    tolerance: float,
    explore: float = 0.0,
    starts: Sequence[Fitted | None] | None = None,
) -> list[Fitted]:
    """Fit a multinomial logistic regression to every group of rows, over the classes that it has.

    Minimises ``sum of w * -log((1 - explore) * p + explore / classes) + |coefficients|^2 / (2 variance)`` over the sum
    of w; intercepts are free. What was explored at random says nothing about p, and would flatten it.

    Args:
        parts: The groups.
        variance: The prior variance of coefficients (scikit-learn's C).
        tolerance: The largest slope at the end.
        explore: The share of events whose class was chosen at random.
        starts: Fits to begin with, such as those of another variance or of fewer rows.
    """
    fitted: list[Fitted] = []
    begin: Sequence[Fitted | None] = starts or [None] * len(parts)
    shown = [np.unique(part.classes) for part in parts]
    width = parts[0].x.shape[1] + 1 if parts else 1
    place = 0
    while place < len(parts):
        widest, stop = len(shown[place]), place
        while (
            stop < len(parts)
            and (stop + 1 - place) * width * max(widest, len(shown[stop])) * (2 * MEMORY + 6) <= LARGEST_BATCH
        ):
            widest, stop = max(widest, len(shown[stop])), stop + 1
        stop = max(stop, place + 1)
        problem = _Problem.of(parts[place:stop], shown[place:stop], variance, explore)
        start = _begin(parts[place:stop], shown[place:stop], begin[place:stop])
        weights, converged = _minimise(problem, start, tolerance)
        for classes, coefficients, ended in zip(shown[place:stop], weights, converged, strict=True):
            single = len(classes) < 2
            own = None if single else Softmax(coefficients[:, : len(classes)].copy())
            fitted.append(Fitted(classes, own, bool(ended)))
        place = stop
    return fitted


@dataclass(frozen=True, eq=False)
class _Problem:
    """The loss of several groups, whose rows stand one group after the other.

    ``places``: the classes, numbered within each group; ``outside``: -inf for classes that the row's group lacks;
    ``random``: the probability of a row's class by exploration.
    """

    x: list[Matrix]
    transposed: list[Matrix]
    starts: Ints
    places: Ints
    weights: Floats
    outside: Floats
    penalty: Floats
    random: Floats
    explore: float

    @classmethod
    def of(cls, parts: Sequence[Training], shown: Sequence[Ints], variance: float, explore: float) -> _Problem:
        kinds = np.array([len(classes) for classes in shown])
        sizes = [len(part.n) for part in parts]
        totals = np.array([float(part.sample_weight.sum()) for part in parts])
        outside = np.where(np.arange(kinds.max()) < kinds[:, None], 0.0, -np.inf)
        return cls(
            x=[part.x for part in parts],
            # A transposed sparse matrix is one of columns, which are slower to multiply.
            transposed=[part.x.T if isinstance(part.x, np.ndarray) else part.x.T.tocsr() for part in parts],
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            places=np.concatenate([np.searchsorted(c, part.classes) for part, c in zip(parts, shown, strict=True)]),
            weights=np.concatenate([part.sample_weight / t for part, t in zip(parts, totals, strict=True)]),
            outside=np.repeat(outside, sizes, axis=0),
            penalty=1 / (variance * totals),
            random=np.repeat(explore / kinds, sizes),
            explore=explore,
        )

    def take(self, groups: Ints) -> _Problem:
        """Return the problem of some groups."""
        if len(groups) == len(self.x):
            return self
        rows = np.concatenate([np.arange(self.starts[group], self.starts[group + 1]) for group in groups.tolist()])
        sizes = np.diff(self.starts)[groups]
        return _Problem(
            x=[self.x[group] for group in groups.tolist()],
            transposed=[self.transposed[group] for group in groups.tolist()],
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            places=self.places[rows],
            weights=self.weights[rows],
            outside=self.outside[rows],
            penalty=self.penalty[groups],
            random=self.random[rows],
            explore=self.explore,
        )

    def loss(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the loss and the slope of every group at its coefficients."""
        p, each = np.empty_like(self.outside), np.arange(len(self.places))
        ends = list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))
        for x, w, (start, stop) in zip(self.x, weights, ends, strict=True):
            p[start:stop] = x @ w[:-1]
            p[start:stop] += w[-1]
        p += self.outside
        p -= p.max(axis=1, keepdims=True)
        shown = p[each, self.places]
        np.exp(p, out=p)
        sums = p.sum(axis=1)
        penalised, slopes = weights[:, :-1], np.empty_like(weights)
        logs = shown - np.log(sums)
        weights_of = self.weights
        if self.explore:
            own = (1 - self.explore) * np.exp(logs)
            logs = np.log(own + self.random)
            # The share of an event that was not explored is all that it says about p.
            weights_of = self.weights * own / (own + self.random)
        losses = np.add.reduceat(self.weights * -logs, self.starts[:-1])
        losses += self.penalty / 2 * np.einsum("gdk,gdk->g", penalised, penalised)
        p *= (weights_of / sums)[:, None]
        p[each, self.places] -= weights_of
        for x, slope, (start, stop) in zip(self.transposed, slopes, ends, strict=True):
            slope[:-1] = x @ p[start:stop]
        slopes[:, -1] = np.add.reduceat(p, self.starts[:-1], axis=0)
        slopes[:, :-1] += self.penalty[:, None, None] * penalised
        return losses, slopes


def _begin(parts: Sequence[Training], shown: Sequence[Ints], fits: Sequence[Fitted | None]) -> Floats:
    """Return the coefficients to begin with: those of earlier fits, zero where there are none."""
    begin = np.zeros((len(parts), parts[0].x.shape[1] + 1, max(len(classes) for classes in shown)))
    for group, (fit, classes) in enumerate(zip(fits, shown, strict=True)):
        if fit is not None and fit.classifier is not None:
            kept = np.isin(fit.classes, classes)
            columns = np.searchsorted(classes, fit.classes[kept])
            begin[group][:, columns] = fit.classifier.coefficients[:, kept]
    return begin


def _minimise(problem: _Problem, weights: Floats, tolerance: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the coefficients of every group at its smallest loss, and which groups got there."""
    groups = np.arange(len(weights))
    converged = np.zeros(len(weights), dtype=bool)
    result = weights.copy()
    loss, slope = problem.loss(weights)
    steps: list[tuple[Floats, Floats]] = []
    for step in range(MOST_STEPS):
        done = np.abs(slope).max(axis=(1, 2)) <= tolerance
        if done.any():
            result[groups[done]], converged[groups[done]] = weights[done], True
            groups, weights, loss, slope = groups[~done], weights[~done], loss[~done], slope[~done]
            steps = [(moved[~done], changed[~done]) for moved, changed in steps]
            if not len(groups):
                return result, converged
            problem = problem.take(np.flatnonzero(~done))
        direction = -_newton(slope, steps)
        promised = _dot(slope, direction)
        length = np.ones(len(groups))
        if step == 0:
            length = np.minimum(1.0, 1 / np.maximum(np.sqrt(_dot(slope, slope)), np.finfo(float).tiny))
        new, new_loss, new_slope = weights + length[:, None, None] * direction, loss.copy(), slope.copy()
        open_ = np.arange(len(groups))
        for _ in range(MOST_TRIES):
            new[open_] = weights[open_] + length[open_, None, None] * direction[open_]
            new_loss[open_], new_slope[open_] = problem.take(open_).loss(new[open_])
            open_ = open_[~(new_loss[open_] <= loss[open_] + GAIN * length[open_] * promised[open_])]
            if not len(open_):
                break
            length[open_] *= SHORTER
        # Where no step gains any more the arithmetic has nothing left to give.
        new[open_], new_loss[open_], new_slope[open_] = weights[open_], loss[open_], 0.0
        steps = [*steps[-MEMORY + 1 :], (new - weights, new_slope - slope)]
        weights, loss, slope = new, new_loss, new_slope
    result[groups] = weights
    return result, converged


def _newton(slope: Floats, steps: list[tuple[Floats, Floats]]) -> Floats:
    """Return the inverse curvature of the last steps times the slope (the two loops of L-BFGS), by group."""
    tiny = np.finfo(float).tiny
    result, factors = slope.copy(), []
    for moved, changed in reversed(steps):
        curvature = _dot(moved, changed)
        inverse = np.where(curvature > 1e-12 * _dot(changed, changed), 1 / np.maximum(curvature, tiny), 0.0)
        factor = inverse * _dot(moved, result)
        result -= factor[:, None, None] * changed
        factors.append((factor, inverse))
    if steps:
        moved, changed = steps[-1]
        scale = _dot(moved, changed) / np.maximum(_dot(changed, changed), tiny)
        result *= np.where(scale > 0, scale, 1.0)[:, None, None]
    for (moved, changed), (factor, inverse) in zip(steps, reversed(factors), strict=True):
        result += (factor - inverse * _dot(changed, result))[:, None, None] * moved
    return result


def _dot(one: Floats, other: Floats) -> Floats:
    products: Floats = np.einsum("gdk,gdk->g", one, other)
    return products
