"""Propensities from a model of the context columns, as a column of strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.core.names import ACTION, FOLD, PROPENSITY
from warmstart.engine import fetch_streamed, is_partitioned, sample_by_key

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import Engine, PartitionedEngine
    from warmstart.propensity.classifier import PropensityModel

# Where strata are not fetched; a model learns from no more than 200,000 a fold.
STRATA_TO_LEARN_FROM = 1_000_000


def modelled_propensity(
    engine: Engine, strata: ir.Table, *, model: Any = None, seed: int = 0
) -> tuple[ir.Table, PropensityModel]:
    """Add the propensity that a model learned from the other folds gives; null where it never saw the action.

    On an engine in parts the strata stay there, and a model learns from a bounded number of them.
    """
    bare = strata.drop(PROPENSITY) if PROPENSITY in strata.columns else strata
    if is_partitioned(engine):
        return _modelled_there(engine, bare, model, seed)
    found = engine.fetch_arrow(bare.order_by(bare.columns))
    learned = _learned(found, model, seed)
    return engine.open_arrow(with_modelled(found, learned)), learned


def with_modelled(rows: pa.Table, learned: PropensityModel) -> pa.Table:
    """Add the propensities of a model to some strata."""
    values = learned.propensity(_contexts(rows), rows[ACTION], _folds(rows))
    return rows.append_column(PROPENSITY, to_arrow(values, np.isfinite(values)))


def _modelled_there(
    engine: PartitionedEngine, strata: ir.Table, model: Any, seed: int
) -> tuple[ir.Table, PropensityModel]:
    keys = [*(name for name in strata.columns if name.startswith("context_")), ACTION, FOLD]
    # Logged propensities take strata further apart.
    summed = strata.group_by(*keys).agg(n=strata.n.sum())
    many = engine.fetch(summed.agg(strata=summed.count()))[0]["strata"]
    found = fetch_streamed(engine, sample_by_key(summed, keys, STRATA_TO_LEARN_FROM / many))
    learned = _learned(found.sort_by([(name, "ascending") for name in found.column_names]), model, seed)
    schema = ibis.schema({**strata.schema(), PROPENSITY: "float64"})
    return engine.materialise(engine.map_batches(strata, with_modelled, schema, inputs=learned)), learned


def _learned(rows: pa.Table, model: Any, seed: int) -> PropensityModel:
    from warmstart.propensity.classifier import learn_propensity

    return learn_propensity(_contexts(rows), rows[ACTION], to_numpy(rows["n"]), _folds(rows), model=model, seed=seed)


def _contexts(rows: pa.Table) -> pa.Table:
    return rows.select([name for name in rows.column_names if name.startswith("context_")]).combine_chunks()


def _folds(rows: pa.Table) -> Any:
    return to_numpy(rows[FOLD]).astype(np.int64)
