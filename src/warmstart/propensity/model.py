"""Propensities from a cross-fitted model of the context columns, as a column of strata."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import ACTION, FOLD, PROPENSITY, to_numpy
from warmstart.engine import add_predictions

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.events import Strata
    from warmstart.propensity.classifier import PropensityModel


def modelled_propensity(strata: Strata, *, model: Any = None, seed: int = 0) -> Strata:
    """Add the propensity that a classifier of the other folds gives; null where it never saw the action.

    Args:
        strata: Strata by fold.
        model: A scikit-learn classifier, cloned; without one, a multinomial logistic regression.
        seed: Of its samples.
    """
    from warmstart.propensity.classifier import learn_propensity

    rows = strata.to_learn_from()
    contexts = strata.cells.columns.context_keys
    learned = learn_propensity(
        _contexts(rows, contexts), rows[ACTION], to_numpy(rows["n"]), _folds(rows), model=model, seed=seed
    )
    reads = [*contexts, ACTION, FOLD]
    table = add_predictions(
        strata.cells.engine, strata.table, PROPENSITY, _propensity, (learned, contexts), reads=reads
    )
    return replace(strata, table=table)


def _propensity(rows: pa.Table, inputs: tuple[PropensityModel, tuple[str, ...]]) -> NDArray[np.float64]:
    learned, contexts = inputs
    return learned.propensity(_contexts(rows, contexts), rows[ACTION], _folds(rows))


def _contexts(rows: pa.Table, names: tuple[str, ...]) -> pa.Table:
    return rows.select(list(names)).combine_chunks()


def _folds(rows: pa.Table) -> NDArray[np.int64]:
    folds: NDArray[np.int64] = to_numpy(rows[FOLD]).astype(np.int64)
    return folds
