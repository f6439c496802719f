"""A logistic regression of the context's features for every action, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, UsageError, silent
from warmstart.features import FeatureRows, scikit_learn
from warmstart.reward.examples import Examples
from warmstart.reward.models import asked, chunks

# Numbers come with a spread of .3: this is scikit-learn's own default for a spread of 1.
C = 10.0
MOST_STEPS = 300
MOST_ACTIONS, MOST_COEFFICIENTS = 1_000, 20_000_000
# The rate of an action that was never or always rewarded is shrunk to the mean of all by so many events.
HALF = 2.0


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """``coefficients`` of every action for the ``buckets`` in use, in rising order, and its ``intercepts``."""

    buckets: NDArray[np.uint32]
    coefficients: NDArray[np.float32]
    intercepts: NDArray[np.float32]

    def predict(
        self,
        contexts: NDArray[Any],
        actions: NDArray[Any],
        x: FeatureRows,
        a: FeatureRows,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and known actions by their number."""
        from scipy.special import expit

        rows, context = asked(x, contexts)
        matrix = _columns(rows, self.buckets)
        logits = np.empty(len(contexts), dtype=np.float32)
        order = np.argsort(context, kind="stable")
        bounds = np.searchsorted(context[order], [0, *(part[-1] + 1 for part in chunks(len(rows)))])
        for number, part in enumerate(chunks(len(rows))):
            mine = order[bounds[number] : bounds[number + 1]]
            block = matrix[part] @ self.coefficients.T
            logits[mine] = block[context[mine] - part[0], actions[mine]] + self.intercepts[actions[mine]]
        return np.asarray(expit(logits), dtype=np.float32)


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

    places = np.searchsorted(buckets, rows.buckets)
    known = buckets[np.minimum(places, len(buckets) - 1)] == rows.buckets if len(buckets) else np.zeros(0, dtype=bool)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    shape = (len(rows), len(buckets))
    entries = (rows.values[known].astype(np.float64), (owner[known], places[known]))
    return sparse.csr_array(entries, shape=shape)
