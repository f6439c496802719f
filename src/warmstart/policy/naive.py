"""The paper's Naive policy: the best of all actions by the model's score, ever shown in the context or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from warmstart.core import ACTION, PROBABILITY, SourceError, quoted, shortened, to_arrow
from warmstart.engine import PartitionedEngine, float_literal, is_partitioned, is_storage
from warmstart.events import Cells
from warmstart.features import FeatureRows, KeyEncoder, read_features, read_features_distributed, rows_of_lists
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.ranking_store import RankingInMemory
from warmstart.reward import NUMBER


@dataclass(frozen=True, eq=False)
class NaivePolicy:
    """A learned policy that ranks all actions, not only those feasible in the context.

    ``rewarded_only``: leave contexts without a reward in the evaluated window undecided. The value is the same, since
    nothing was earned there; support is not.
    """

    fitted: FittedPolicy
    rewarded_only: bool = False


def naive_policy(cells: Cells, naive: NaivePolicy, *, name: str, contexts: Any = None) -> PolicyTable:
    """Return the best of all actions that the policy knows, for every context of the evaluated window.

    ``contexts``: a table of contexts in the place of the one that it was learned with.
    """
    asked = cells.contexts
    if naive.rewarded_only:
        asked = asked.filter(asked.context_reward_sum > 0)
    chosen = best_of_known(cells, asked.select(*cells.columns.context_keys), naive.fitted, contexts)
    return PolicyTable(name, chosen.mutate(**{PROBABILITY: float_literal(1)}))


def best_of_known(cells: Cells, contexts: ir.Table, fitted: FittedPolicy, source: Any) -> ir.Table:
    """Return the action with the highest score for every context: the context columns and the action.

    Args:
        cells: Of the log.
        contexts: Distinct contexts, a table of the engine.
        fitted: The policy whose model scores the actions that it knows.
        source: A table of contexts with their features; None for the one that the policy was learned with.
    """
    if is_partitioned(cells.engine):
        opened = _choose_distributed(cells.engine, cells, contexts, fitted, source)
    else:
        opened = _choose_local(cells, contexts, fitted, source)
    return opened.select(**{key: opened[key].cast(cells.table[key].type()) for key in cells.columns.keys})


def _choose_local(cells: Cells, contexts: ir.Table, fitted: FittedPolicy, source: Any) -> ir.Table:
    encoder = KeyEncoder.of(cells.engine.fetch_arrow(contexts))
    features = read_features(cells.engine, keys=encoder, **_as_learned(cells, fitted, source))
    best, _ = fitted.best_of_all(features.rows)
    chosen = fitted.actions.take(to_arrow(best))
    return cells.engine.open_arrow(encoder.keys.append_column(ACTION, pa.chunked_array([chosen])))


def _choose_distributed(
    engine: PartitionedEngine, cells: Cells, contexts: ir.Table, fitted: FittedPolicy, source: Any
) -> ir.Table:
    """Choose on the engine's workers; the model is broadcast to them."""
    features = read_features_distributed(engine, contexts, **_as_learned(cells, fitted, source))
    keys = cells.columns.context_keys
    schema = ibis.schema({**{key: contexts[key].type() for key in keys}, NUMBER: "int64"})
    broadcast = replace(fitted, ranked=RankingInMemory(pa.table({})))
    chosen = engine.map_batches(features.table, _best_of_batch, schema, inputs=(broadcast, features.alone, keys))
    numbers = engine.open_arrow(pa.table({ACTION: fitted.actions, NUMBER: pa.array(range(len(fitted.actions)))}))
    return chosen.join(numbers, NUMBER)


def _best_of_batch(rows: pa.Table, inputs: tuple[FittedPolicy, FeatureRows, tuple[str, ...]]) -> pa.Table:
    fitted, alone, keys = inputs
    best, _ = fitted.best_of_all(rows_of_lists(rows, alone))
    return rows.select(list(keys)).append_column(NUMBER, [best])


def _as_learned(cells: Cells, fitted: FittedPolicy, source: Any) -> dict[str, Any]:
    """Return how to read the table of contexts: the given one, or that which the policy was learned with just now."""
    source = _recorded_contexts(fitted) if source is None else source
    columns = dict(zip(cells.columns.context_keys, cells.columns.context, strict=True))
    table = {"source": source, "columns": columns, "what": "the table of contexts", "strict": False}
    settings = fitted.context_settings
    return {**table, "bits": settings.bits, "cross_only": not settings.constant, "settings": settings}


def _recorded_contexts(fitted: FittedPolicy) -> str | None:
    """Return the path of the table of contexts that a policy was learned with, None if there was none.

    A policy from a folder may be somebody else's, and what it names is not opened.
    """
    sources = fitted.report.get("sources")
    source = sources.get("contexts") if isinstance(sources, Mapping) else None
    if source is None:
        return None
    needs = "To choose among all actions, the table of contexts that the policy was learned with is needed"
    hint = "Pass it: contexts=... (--contexts FILE)."
    if fitted.loaded or not isinstance(source, str):
        raise SourceError(f"{needs}; what a saved policy names ({shortened(source)}) is not opened.", hint)
    if not (is_storage(source) or Path(source).exists()):
        raise SourceError(f"{needs}, and {quoted(source)} is not there.", hint)
    return source
