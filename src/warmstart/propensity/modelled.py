"""Propensities from a model of the context columns, as a column of strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.core.names import ACTION, FOLD, PROPENSITY

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


def modelled_propensity(engine: Engine, strata: ir.Table, *, model: Any = None, seed: int = 0) -> tuple[ir.Table, Any]:
    """Add the propensity that a model learned from the other folds gives; null where it never saw the action."""
    from warmstart.propensity.model import learn_propensity

    found = engine.fetch_arrow(strata.order_by(strata.columns))
    contexts = found.select([name for name in found.column_names if name.startswith("context_")])
    n, folds = to_numpy(found["n"]), to_numpy(found[FOLD]).astype(np.int64)
    learned = learn_propensity(contexts, found[ACTION], n, folds, model=model, seed=seed)
    values = learned.propensity(contexts, found[ACTION], folds)
    kept = found.drop_columns([PROPENSITY]) if PROPENSITY in found.column_names else found
    column = to_arrow(values, np.isfinite(values))
    return engine.open_arrow(kept.append_column(PROPENSITY, column)), learned
