"""Any regressor with scikit-learn's manners in the place of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import FeatureRows
    from warmstart.reward.examples import Examples


def predict_with(model: Any, examples: Examples, x: FeatureRows, a: FeatureRows, tau: float) -> NDArray[np.float32]:
    """Fit a regressor on cells, context and action features side by side, and return its predictions in [0, 1]."""
    both = sparse.hstack([_matrix(x)[examples.contexts], _matrix(a)[examples.actions]], format="csr")
    model.fit(both, examples.means, sample_weight=examples.importance(tau).astype(np.float64))
    return np.clip(np.asarray(model.predict(both), dtype=np.float32), 0, 1)


def _matrix(rows: FeatureRows) -> Any:
    """Number the buckets in use anew: dense models would choke on empty columns."""
    used, columns = np.unique(rows.buckets, return_inverse=True)
    return sparse.csr_matrix((rows.values, columns, rows.starts), shape=(len(rows), max(len(used), 1)))
