"""Adapt a scikit-learn regressor to the reward-model interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from warmstart.features import FeatureRows, weighted_copy
from warmstart.reward.examples import Examples


def fit_predict(
    model: Any, examples: Examples, x: FeatureRows, a: FeatureRows, *, tau: float, seed: int
) -> NDArray[np.float32]:
    """Fit a clone of a scikit-learn regressor on cells, and return its predictions for them in [0, 1].

    Args:
        model: the regressor, which stays unfitted.
        examples: the cells.
        x: features of contexts.
        a: features of actions, beside those of contexts in the design matrix.
        tau: sample weights are n / max(propensity, tau).
        seed: the random state of a regressor without one.
    """
    both = sparse.hstack([_matrix(x)[examples.contexts], _matrix(a)[examples.actions]], format="csr")
    fitted = weighted_copy(model, seed)
    fitted.fit(both, examples.means, sample_weight=examples.importance(tau).astype(np.float64))
    return np.clip(np.asarray(fitted.predict(both), dtype=np.float32), 0, 1)


def _matrix(rows: FeatureRows) -> Any:
    """Return the columns of the buckets in use: dense models would choke on empty ones."""
    used, columns = np.unique(rows.buckets, return_inverse=True)
    return sparse.csr_matrix((rows.values, columns, rows.starts), shape=(len(rows), max(len(used), 1)))
