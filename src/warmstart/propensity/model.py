"""Propensities from cross-fitted models of the context columns, as a column of strata."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import ACTION, EPOCH, FOLD, PROPENSITY, to_numpy
from warmstart.engine import add_predictions

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.events import Strata
    from warmstart.propensity.classifier import PropensityModel
    from warmstart.propensity.compare import CountedRows
    from warmstart.propensity.divisions import Epoching


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
    return with_predictions(strata, learned)


def mixture_propensity(strata: Strata, *, model: Any = None, seed: int = 0) -> tuple[Strata, Epoching]:
    """Add the propensity that a mixture over epochs gives, and tell what the epochs are.

    The epochs are those that the log was read with; "auto", or a log without, takes the division with the smallest
    held-out log-loss, one model of all epochs among them.

    Args:
        strata: Strata by fold.
        model: A scikit-learn classifier, cloned for every epoch; without one, logistic regressions.
        seed: Of its samples.
    """
    learned, epoching = learn_epochs(strata, model=model, seed=seed)
    return with_own_epoch(with_predictions(strata, learned), epoching), epoching


def learn_epochs(strata: Strata, *, model: Any = None, seed: int = 0) -> tuple[PropensityModel, Epoching]:
    """Learn a mixture over epochs from the events of strata, and tell what the epochs are."""
    from warmstart.features import KeyEncoder
    from warmstart.propensity.classifier import learn_propensity
    from warmstart.propensity.divisions import Epoching, divisions, finest_unit
    from warmstart.propensity.mixture import compare_epochs, learn_mixture
    from warmstart.propensity.own_epoch import own_epoch_rows

    window, named = strata.cells.evaluated.window, strata.cells.evaluated.log.epochs
    losses: dict[str, float] = {}
    chosen = named is not None and named.kind != "auto"
    unit = finest_unit(window.first or 0, window.last or 0)
    rows = strata.by_epoch(named.kind if named is not None and chosen else unit)
    contexts = _contexts(rows, strata.cells.columns.context_keys)
    given = contexts, rows[ACTION], to_numpy(rows["n"]), _folds(rows)
    if named is not None and chosen:
        name, epochs = named.words, KeyEncoder.of(rows[EPOCH]).numbers(rows[EPOCH])
    else:
        candidates = divisions(to_numpy(rows[EPOCH]).astype(np.int64), unit, given[2])
        losses = compare_epochs(*given, candidates, model=model, seed=seed) if candidates else {}
        name = min(losses, key=lambda key: losses[key]) if losses else ""
        epochs = candidates.get(name, np.zeros(len(rows), dtype=np.int64))
    count = int(epochs.max()) + 1
    if count < 2:
        return learn_propensity(*given, model=model, seed=seed), Epoching("", 1, losses)
    learned = learn_mixture(*given, epochs, model=model, seed=seed)
    own = own_epoch_rows(learned, *given[:3], folds=given[3], epochs=epochs, seed=seed)
    return learned, Epoching(name, count, losses, learned.same_contexts, own)


def with_own_epoch(strata: Strata, epoching: Epoching | None) -> Strata:
    """Put a sample of events with the propensities of their own epoch beside the strata, if there are epochs."""
    if epoching is None or epoching.own is None:
        return strata
    return replace(strata, own_epoch=strata.cells.engine.open_arrow(epoching.own))


def with_predictions(strata: Strata, learned: PropensityModel | CountedRows) -> Strata:
    """Add the propensities of a model, predicted in batches where the strata are."""
    contexts = strata.cells.columns.context_keys
    reads = [*contexts, ACTION, FOLD]
    table = add_predictions(
        strata.cells.engine, strata.table, PROPENSITY, _propensity, (learned, contexts), reads=reads
    )
    return replace(strata, table=table)


def _propensity(rows: pa.Table, inputs: tuple[PropensityModel | CountedRows, tuple[str, ...]]) -> NDArray[np.float64]:
    learned, contexts = inputs
    return learned.propensity(_contexts(rows, contexts), rows[ACTION], _folds(rows))


def _contexts(rows: pa.Table, names: tuple[str, ...]) -> pa.Table:
    return rows.select(list(names)).combine_chunks()


def _folds(rows: pa.Table) -> NDArray[np.int64]:
    folds: NDArray[np.int64] = to_numpy(rows[FOLD]).astype(np.int64)
    return folds
