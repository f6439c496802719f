"""Learn where the cells are: the order of the steps on an engine that spreads over processes or machines.

Cells, features of contexts and the ranking stay in the engine. Here come the actions and their features, which are part
of the model, its weights between passes, and a bounded sample of the cells, with which the fit's tau is chosen.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.errors import EmptyWindowError
from warmstart.core.names import ACTION
from warmstart.core.progress import Progress
from warmstart.engine import PartitionedEngine, fetch_streamed, sample_by_key
from warmstart.events import Events, open_cells
from warmstart.features import EncodedSide, FeatureRows, Side, encode_side, read_side
from warmstart.features.read_distributed import BUCKETS, VALUES
from warmstart.pipeline.fitted import Fitted, held_out, or_themselves, side_report
from warmstart.policy import RankingInEngine
from warmstart.reward import CELLS_TO_CHOOSE_WITH, Examples, FitSettings, Learner, Numbering, ProductModel
from warmstart.reward.distributed_part import NUMBER, Sides
from warmstart.reward.distributed_sgd import DistributedLearner, parts_of
from warmstart.reward.examples import SUMS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells


@dataclass(frozen=True, eq=False)
class DistributedFit:
    """A window of a log in such an engine, how to learn from it, and whom to tell."""

    engine: PartitionedEngine
    events: Events
    settings: FitSettings
    report: Progress

    def run(self, tables: tuple[Any, Any]) -> Fitted:
        """Learn, with tables of contexts and of actions."""
        engine, settings = self.engine, self.settings
        with open_cells(self.events) as cells, ExitStack() as kept:
            counts = self._counts(cells)
            actions = self._distinct_actions(cells)
            x, a = self._sides(cells, tables, actions)
            kept.callback(x.table.release)
            numbered = engine.materialise(self._numbered(cells, actions))
            kept.callback(numbered.release)
            tau, tried = self._fit_tau((x, a), actions)
            sides = Sides(a.rows, x.alone, self.events.columns.context_keys)
            learner = DistributedLearner(engine, numbered, x.table, sides, settings, parts_of(counts["cells"]))
            learned = learner.learn(tau, self.report)
            kept.callback(learned.ranking.release)
            ranking = engine.materialise(self._with_actions(learned.ranking, actions))
        if not engine.fetch(ranking.limit(1)):
            raise EmptyWindowError("No action is feasible anywhere.", "Ask for fewer events or a lower propensity.")
        return Fitted(
            ranked=RankingInEngine(engine, ranking, self.events.columns),
            model=learned.model,
            contexts=x.settings,
            context_report=_encoded_report(x, learned.model),
            actions=actions,
            action_side=a,
            factors=learned.by_action,
            lowest=learned.lowest,
            tau=tau,
            tried=tried,
            events=counts["events"],
            cells=counts["cells"],
        )

    def _counts(self, cells: Cells) -> dict[str, int]:
        table = cells.table
        sums = table.agg(cells=table.count(), events=table.n.sum(), rewards=table.reward_sum.sum())
        found = self.engine.fetch(sums)[0]
        if not found["rewards"] > 0:
            raise EmptyWindowError("No event of the training window has a reward: there is nothing to learn.")
        return {"cells": found["cells"], "events": int(found["events"])}

    def _distinct_actions(self, cells: Cells) -> Numbering:
        return Numbering.of_rows(fetch_streamed(self.engine, cells.table.select(ACTION).distinct()))

    def _sides(self, cells: Cells, tables: tuple[Any, Any], actions: Numbering) -> tuple[EncodedSide, Side]:
        settings, given = self.settings, self.events.columns.fixed_to_given
        shared: dict[str, Any] = {"cross_only": settings.cross_only, "strict": settings.strict}
        self.report("reading features of contexts")
        keys = {key: given[key] for key in self.events.columns.context_keys}
        contexts = cells.contexts.select(*keys)
        x = encode_side(
            self.engine, contexts, tables[0], keys, bits=settings.bits[0], what="the table of contexts", **shared
        )
        self.report("reading features of actions")
        described = or_themselves(tables, self.events, actions, settings)
        names = {ACTION: given[ACTION]}
        a = read_side(
            self.engine, described, names, actions, bits=settings.bits[1], what="the table of actions", **shared
        )
        return x, a

    def _numbered(self, cells: Cells, actions: Numbering) -> ir.Table:
        """Give every cell the number of its action instead of its key."""
        joined = cells.table.join(self._numbers(actions, cells.table[ACTION].type()), ACTION)
        return joined.select(*cells.columns.context_keys, NUMBER, *SUMS)

    def _with_actions(self, ranking: ir.Table, actions: Numbering) -> ir.Table:
        """Give the ranking the log's own columns."""
        joined = ranking.join(self._numbers(actions, self.events.table[ACTION].type()), NUMBER)
        given = self.events.columns.fixed_to_given
        keys = {given[key]: joined[key] for key in self.events.columns.keys}
        return joined.select(**keys, rank=joined["rank"], score=joined["score"])

    def _numbers(self, actions: Numbering, kind: Any) -> ir.Table:
        known = self.engine.open_arrow(actions.keys.append_column(NUMBER, [np.arange(len(actions))]))
        return known.select(known[ACTION].cast(kind).name(ACTION), NUMBER)

    def _fit_tau(self, sides: tuple[EncodedSide, Side], actions: Numbering) -> tuple[float, dict[str, float]]:
        """Choose the fit's tau here, as on one machine, with the cells of some contexts."""
        if self.settings.fit_tau != "auto":
            return float(self.settings.fit_tau), {}
        self.report("choosing the fit's tau")
        windows = held_out(self.events)
        if windows is None:
            return 1.0, {}
        keys = self.events.columns.context_keys
        share, found = 0.0, []
        for window in windows:
            with open_cells(window) as cells:
                share = share or min(1.0, CELLS_TO_CHOOSE_WITH / self._counts_of(cells))
                found.append(
                    fetch_streamed(self.engine, sample_by_key(cells.table, keys, share).select(*keys, ACTION, *SUMS))
                )
        x, a = sides
        rows = fetch_streamed(self.engine, sample_by_key(x.table, keys, share))
        contexts = Numbering.of_rows(rows.select(list(keys)))
        features = FeatureRows.of_lists(rows[BUCKETS], rows[VALUES], x.alone)
        features = features.take(np.argsort(contexts.numbers(rows)))
        early, late = (Examples.of_rows(part, contexts, actions) for part in found)
        learner = Learner(features, a.rows, self.settings)
        return learner.choose_tau(early, late, self.report)

    def _counts_of(self, cells: Cells) -> int:
        many: int = self.engine.fetch(cells.table.agg(cells=cells.table.count()))[0]["cells"]
        return many


def _encoded_report(side: EncodedSide, model: ProductModel) -> dict[str, Any]:
    """Report as on one machine; how many features there are is inputs, about, from how full the buckets are."""
    buckets = 1 << side.settings.bits
    used = int(np.count_nonzero(model.weights.reshape(-1, model.width).any(axis=1)))
    # With every bucket in use there may be any number of features.
    features = None if used == buckets else round(float(np.log1p(-used / buckets) / np.log1p(-1 / buckets)))
    report = side_report(side.settings, known=side.known, without=side.without, features=features or 0, used=used)
    sharing = None if features is None else report["sharing_a_bucket"]
    return {**report, "features": features, "sharing_a_bucket": sharing, "estimated": True}
