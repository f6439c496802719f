"""The best of all actions by the model's score, whether it was ever shown in the context or not: the paper's Naive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.arrays import to_arrow
from warmstart.core.errors import SourceError
from warmstart.core.names import ACTION, PROBABILITY
from warmstart.core.text import quoted
from warmstart.engine import PartitionedEngine, float_literal, is_partitioned
from warmstart.engine.databases import is_storage
from warmstart.features import FeatureRows, encode_side, read_side
from warmstart.features.read_distributed import BUCKETS, VALUES
from warmstart.policy.policy import Policy
from warmstart.policy.ranking_store import RankingInMemory
from warmstart.reward import Numbering
from warmstart.reward.distributed_part import NUMBER

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.events import Cells
    from warmstart.policy.fitted import FittedPolicy


@dataclass(frozen=True, eq=False)
class NaivePolicy:
    """A learned policy without its feasible sets.

    ``rewarded_only``: leave contexts without a reward in the evaluated window undecided. The value is the same, since
    nothing was earned there; support is not.
    """

    fitted: FittedPolicy
    rewarded_only: bool = False


def naive_policy(cells: Cells, naive: NaivePolicy, *, name: str) -> Policy:
    """Choose for every context of the evaluated window among all actions that the policy knows."""
    contexts = cells.contexts
    if naive.rewarded_only:
        contexts = contexts.filter(contexts.context_reward_sum > 0)
    contexts = contexts.select(*cells.columns.context_keys)
    engine = cells.engine
    if is_partitioned(engine):
        opened = _chosen_in_parts(engine, cells, contexts, naive.fitted)
    else:
        opened = _chosen_here(cells, contexts, naive.fitted)
    cast = {key: opened[key].cast(cells.table[key].type()) for key in cells.columns.keys}
    return Policy(name, opened.select(**cast, **{PROBABILITY: float_literal(1)}))


def _chosen_here(cells: Cells, contexts: ir.Table, fitted: FittedPolicy) -> ir.Table:
    import pyarrow as pa

    numbering = Numbering.of_rows(cells.engine.fetch_arrow(contexts))
    side = read_side(cells.engine, *_table_of(cells, fitted), numbering, **_as_learned(fitted))
    best, _ = fitted.best_of_all(side.rows, fitted.action_rows, fitted.factors)
    chosen = fitted.actions.take(to_arrow(best))
    return cells.engine.open_arrow(numbering.keys.append_column(ACTION, pa.chunked_array([chosen])))


def _chosen_in_parts(engine: PartitionedEngine, cells: Cells, contexts: ir.Table, fitted: FittedPolicy) -> ir.Table:
    """Choose where the contexts are; only the model travels."""
    import pyarrow as pa

    side = encode_side(engine, contexts, *_table_of(cells, fitted), **_as_learned(fitted))
    keys = cells.columns.context_keys
    schema = ibis.schema({**{key: contexts[key].type() for key in keys}, NUMBER: "int64"})
    alone = replace(fitted, ranked=RankingInMemory(pa.table({})))
    chosen = engine.map_batches(side.table, _best_of_batch, schema, inputs=(alone, side.alone, keys))
    numbers = engine.open_arrow(pa.table({ACTION: fitted.actions, NUMBER: pa.array(range(len(fitted.actions)))}))
    return chosen.join(numbers, NUMBER)


def _best_of_batch(rows: pa.Table, inputs: tuple[FittedPolicy, FeatureRows, tuple[str, ...]]) -> pa.Table:
    fitted, alone, keys = inputs
    features = FeatureRows.of_lists(rows[BUCKETS], rows[VALUES], alone)
    best, _ = fitted.best_of_all(features, fitted.action_rows, fitted.factors)
    return rows.select(list(keys)).append_column(NUMBER, [best])


def _table_of(cells: Cells, fitted: FittedPolicy) -> tuple[Any, dict[str, str]]:
    given = cells.columns.fixed_to_given
    return _contexts_of(fitted), {key: given[key] for key in cells.columns.context_keys}


def _as_learned(fitted: FittedPolicy) -> dict[str, Any]:
    settings = fitted.context_settings
    shared = {"bits": settings.bits, "cross_only": not settings.constant, "settings": settings}
    return {**shared, "strict": False, "what": "the table of contexts"}


def _contexts_of(fitted: FittedPolicy) -> Any:
    """Return the table of contexts that the policy was learned with, which must still be there."""
    source = fitted.report.get("sources", {}).get("contexts")
    if source is None or is_storage(source) or Path(source).exists():
        return source
    raise SourceError(
        f"To choose among all actions, the table of contexts that the policy was learned with is needed, and "
        f"{quoted(source)} is not there.",
        "Go where that path leads to it, or pass the decisions of policy.choose_table.",
    )
