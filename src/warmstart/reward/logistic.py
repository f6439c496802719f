"""A logistic regression of the context's features for every action, by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, UsageError, silent
from warmstart.features import FeatureRows, scikit_learn
from warmstart.reward.examples import Examples
from warmstart.scoring import LogisticModel

# Numbers come with a spread of .3: this is scikit-learn's own default for a spread of 1.
C = 10.0
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
    """Learn from cells with weights 1 / max(propensity, tau), one regression an action.

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
    weight = 1 / np.maximum(examples.propensity, tau)
    weight /= weight.mean()
    won, lost = weight * examples.reward_sum, weight * (examples.n - examples.reward_sum)
    mean = float(won.sum() / (won.sum() + lost.sum()))
    coefficients = np.zeros((len(a), len(buckets)), dtype=np.float32)
    intercepts = np.empty(len(a), dtype=np.float32)
    order = np.argsort(examples.actions, kind="stable")
    starts = np.searchsorted(examples.actions[order], np.arange(len(a) + 1))
    for action in range(len(a)):
        cells = order[starts[action] : starts[action + 1]]
        good, bad = float(won[cells].sum()), float(lost[cells].sum())
        rate = (good + HALF * mean) / (good + bad + HALF)
        intercepts[action] = np.log(max(rate, 1e-9) / max(1 - rate, 1e-9))
        if min(good, bad) > 0:
            rows = matrix[examples.contexts[cells]]
            both, y = _twice(rows), np.repeat([1, 0], len(cells))
            weights = np.concatenate([won[cells], lost[cells]])
            kept = np.flatnonzero(weights > 0)
            found = scikit_learn("linear_model").LogisticRegression(C=C, max_iter=MOST_STEPS, random_state=seed)
            found.fit(both[kept], y[kept], sample_weight=weights[kept])
            coefficients[action], intercepts[action] = found.coef_[0], found.intercept_[0]
        on_progress("learning", (action + 1) / len(a), "a regression an action")
    return LogisticModel(buckets, coefficients, intercepts)


def _twice(rows: Any) -> Any:
    from scipy import sparse

    return sparse.vstack([rows, rows], format="csr")


def _columns(rows: FeatureRows, buckets: NDArray[np.uint32]) -> Any:
    """Return the features as a matrix with one column for each of the buckets; others are left out."""
    from scipy import sparse

    mine = rows.among(buckets)
    entries = (mine.values.astype(np.float64), mine.buckets.astype(np.int64), mine.starts)
    return sparse.csr_array(entries, shape=(len(rows), len(buckets)))
