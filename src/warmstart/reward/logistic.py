"""A logistic regression of the context's features for every action, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, UsageError, silent
from warmstart.features import FeatureRows, scikit_learn
from warmstart.reward.examples import Examples
from warmstart.scoring import LogisticModel

# Numbers come with a spread of .3: this is scikit-learn's own default for a spread of 1.
C = 10.0
# Tried on cells held out, the usual first: it stays where the other is no better. A stronger penalty has less loss
# where actions are shown rarely, and draws them all to their means (accuracy on yeast .25, not .51).
PENALTIES, CELLS_TO_CHOOSE_WITH = (C, 100.0), 20_000
MOST_STEPS = 300
MOST_ACTIONS, MOST_COEFFICIENTS = 1_000, 20_000_000
# The rate of an action that was never or always rewarded is shrunk to the mean of all by so many events.
HALF = 2.0


def learn_logistic(
    examples: Examples,
    tau: float,
    x: FeatureRows,
    a: FeatureRows,
    *,
    seed: int = 0,
    on_progress: Progress = silent,
) -> LogisticModel:
    """Learn from cells with weights 1 / max(propensity, tau), one regression an action, all with one penalty.

    Args:
        examples: the cells.
        tau: the clipping constant of the weights.
        x: features of contexts.
        a: features of actions, of which only the number counts.
        seed: of scikit-learn's solver.
        on_progress: called with the step and the share that is done.
    """
    buckets = np.unique(x.buckets)
    if len(a) > MOST_ACTIONS or len(a) * len(buckets) > MOST_COEFFICIENTS:
        raise UsageError(
            f"One regression for each of {len(a):,} actions is too much with {len(buckets):,} features.",
            "Choose model='low-rank' or 'product'.",
        )
    matrix = _columns(x, buckets)
    weight = examples.weights(tau)
    weight /= weight.mean()
    won, lost = weight * examples.reward_sum, weight * (examples.n - examples.reward_sum)
    table = _Table(matrix, examples.contexts, examples.actions, won, lost)
    penalty = _choose_penalty(table, len(a), seed)
    coefficients, intercepts = table.regressions(penalty, len(a), seed, on_progress)
    return LogisticModel(buckets, coefficients, intercepts)


@dataclass(frozen=True, eq=False)
class _Table:
    """Cells: their contexts, rows of ``matrix``, their actions, and the weight of what they won and lost."""

    matrix: Any
    contexts: NDArray[np.int64]
    actions: NDArray[np.int64]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]

    def take(self, cells: NDArray[Any]) -> _Table:
        return _Table(self.matrix, *(one[cells] for one in (self.contexts, self.actions, self.won, self.lost)))

    def regressions(
        self, c: float, number: int, seed: int, on_progress: Progress = silent
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the coefficients and the intercepts of every action."""
        mean = float(self.won.sum() / (self.won.sum() + self.lost.sum()))
        coefficients = np.zeros((number, self.matrix.shape[1]), dtype=np.float32)
        intercepts = np.empty(number, dtype=np.float32)
        order = np.argsort(self.actions, kind="stable")
        starts = np.searchsorted(self.actions[order], np.arange(number + 1))
        for action in range(number):
            cells = order[starts[action] : starts[action + 1]]
            good, bad = float(self.won[cells].sum()), float(self.lost[cells].sum())
            rate = (good + HALF * mean) / (good + bad + HALF)
            intercepts[action] = np.log(max(rate, 1e-9) / max(1 - rate, 1e-9))
            if min(good, bad) > 0:
                both, y = _twice(self.matrix[self.contexts[cells]]), np.repeat([1, 0], len(cells))
                weights = np.concatenate([self.won[cells], self.lost[cells]])
                kept = np.flatnonzero(weights > 0)
                result = scikit_learn("linear_model").LogisticRegression(C=c, max_iter=MOST_STEPS, random_state=seed)
                result.fit(both[kept], y[kept], sample_weight=weights[kept])
                coefficients[action], intercepts[action] = result.coef_[0], result.intercept_[0]
            on_progress("learning", (action + 1) / number, "a regression an action")
        return coefficients, intercepts

    def loss(self, learned: tuple[NDArray[np.float32], NDArray[np.float32]]) -> float:
        """Return the weighted log-loss of regressions."""
        coefficients, intercepts = learned
        rows = self.matrix[self.contexts]
        owner = np.repeat(np.arange(len(self.actions)), np.diff(rows.indptr))
        terms = rows.data * coefficients[self.actions[owner], rows.indices]
        odds = np.bincount(owner, terms, len(self.actions)) + intercepts[self.actions]
        return float(self.won @ np.logaddexp(0, -odds) + self.lost @ np.logaddexp(0, odds))


def _choose_penalty(table: _Table, number: int, seed: int) -> float:
    """Return the C with the least loss on a fifth of some cells that it was not learned from."""
    cells = np.random.default_rng(seed).permutation(len(table.contexts))[:CELLS_TO_CHOOSE_WITH]
    held_out, rest = np.split(cells, [len(cells) // 5])
    early, late = table.take(np.sort(rest)), table.take(np.sort(held_out))
    if not (early.won.sum() > 0 and early.lost.sum() > 0 and len(held_out)):
        return C
    return min(PENALTIES, key=lambda c: late.loss(early.regressions(c, number, seed)))


def _twice(rows: Any) -> Any:
    from scipy import sparse

    return sparse.vstack([rows, rows], format="csr")


def _columns(rows: FeatureRows, buckets: NDArray[np.uint32]) -> Any:
    """Return the features as a matrix with one column for each of the buckets; others are left out."""
    from scipy import sparse

    mine = rows.among(buckets)
    entries = (mine.values.astype(np.float64), mine.buckets.astype(np.int64), mine.starts)
    return sparse.csr_array(entries, shape=(len(rows), len(buckets)))
