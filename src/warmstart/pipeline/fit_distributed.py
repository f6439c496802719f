"""Learn on a cluster: the steps of ``fit`` on an engine that spreads over processes or machines.

Cells, features of contexts and the ranking stay in the engine. Fetched are the actions and their features, which are
part of the model, its weights between passes, and a bounded sample of the cells, with which the fit's tau is chosen.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np

from warmstart.core import ACTION
from warmstart.engine import PartitionedEngine, fetch_streamed, sample_by_key
from warmstart.events import Cells, open_cells
from warmstart.features import DistributedFeatures, Features, KeyEncoder, read_features_distributed, rows_of_lists
from warmstart.pipeline.fitted import ChosenTau, Fit, check_feasible, check_rewards
from warmstart.policy import FittedPolicy, RankingInEngine
from warmstart.reward import (
    CELLS_TO_CHOOSE_WITH,
    NUMBER,
    SUMS,
    BroadcastFeatures,
    DistributedLearner,
    Examples,
    FitSettings,
    Halves,
    Learner,
    ProductModel,
    partition_count,
)


@dataclass(frozen=True, eq=False)
class DistributedFit(Fit):
    """Learns in the partitioned engine that has the training window."""

    engine: PartitionedEngine

    def run(self) -> FittedPolicy:
        """Learn the policy."""
        engine = self.engine
        with open_cells(self.events) as cells, ExitStack() as resources:
            table = cells.table
            sums = table.agg(cells=table.count(), events=table.n.sum(), rewards=table.reward_sum.sum())
            counts = engine.fetch(sums)[0]
            check_rewards(counts["rewards"])
            actions = KeyEncoder.of(fetch_streamed(engine, table.select(ACTION).distinct()))
            self.report("reading features of contexts")
            contexts = cells.contexts.select(*self.events.columns.context_keys)
            x = read_features_distributed(engine, contexts, self.tables[0], **self.context_options)
            resources.callback(x.table.release)
            a = self.read_action_features(engine, actions)
            settings = replace(self.settings, sides=(x.settings.bits, a.settings.bits))
            numbered = engine.materialise(self._numbered(cells, actions))
            resources.callback(numbered.release)
            tau, halves = self._choose(x, a, actions, settings)
            broadcast = BroadcastFeatures(a.rows, x.alone, self.events.columns.context_keys)
            partitions = partition_count(counts["cells"])
            learner = DistributedLearner(engine, numbered, x.table, broadcast, settings, partitions)
            learned = learner.learn(tau[0], halves, self.report)
            resources.callback(learned.ranking.release)
            ranking = engine.materialise(self._with_actions(learned.ranking, actions))
        check_feasible(len(engine.fetch(ranking.limit(1))))
        ranked = RankingInEngine(engine, ranking, self.events.columns)
        numbers = {"events": int(counts["events"]), "cells": counts["cells"]}
        numbers["contexts"] = _context_report(x, learned.model)
        about: dict[str, Any] = {"context_settings": x.settings, "tau": tau, "halves": halves, "counts": numbers}
        return self.policy(ranked, learned, actions, a, **about)

    def _numbered(self, cells: Cells, actions: KeyEncoder) -> ir.Table:
        """Replace the action of every cell by its number."""
        joined = cells.table.join(self._numbers(actions, cells.table[ACTION].type()), ACTION)
        return joined.select(*cells.columns.context_keys, NUMBER, *SUMS)

    def _with_actions(self, ranking: ir.Table, actions: KeyEncoder) -> ir.Table:
        """Replace numbers by actions, and fixed names by the log's own."""
        joined = ranking.join(self._numbers(actions, self.events.table[ACTION].type()), NUMBER)
        given = self.events.columns.fixed_to_given
        keys = {given[key]: joined[key] for key in self.events.columns.keys}
        return joined.select(**keys, rank=joined["rank"], score=joined["score"])

    def _numbers(self, actions: KeyEncoder, kind: Any) -> ir.Table:
        known = self.engine.open_arrow(actions.keys.append_column(NUMBER, [np.arange(len(actions))]))
        return known.select(known[ACTION].cast(kind).name(ACTION), NUMBER)

    def _choose(
        self, x: DistributedFeatures, a: Features, actions: KeyEncoder, settings: FitSettings
    ) -> tuple[ChosenTau, Halves]:
        """Choose the fit's tau and the halves here, as on one machine, with the cells of a sample of contexts."""
        windows = self.windows
        if not windows:
            return (self.first_tau, {}), Halves()
        keys = self.events.columns.context_keys
        share, sampled = 0.0, []
        for window in windows:
            with open_cells(window) as cells:
                counted = cells.table.agg(cells=cells.table.count())
                share = share or min(1.0, CELLS_TO_CHOOSE_WITH / self.engine.fetch(counted)[0]["cells"])
                sample = sample_by_key(cells.table, keys, share).select(*keys, ACTION, *SUMS)
                sampled.append(fetch_streamed(self.engine, sample))
        rows = fetch_streamed(self.engine, sample_by_key(x.table, keys, share))
        contexts = KeyEncoder.of(rows.select(list(keys)))
        features = rows_of_lists(rows, x.alone).take(np.argsort(contexts.numbers(rows)))
        learner = Learner(features, a.rows, settings)
        divisions = self.divided([Examples.of_rows(cells, contexts, actions) for cells in sampled], learner.sample)
        trial = self.tried(learner, divisions)
        return self.choose_tau(learner, divisions, trial), Halves() if trial is None else trial.halves


def _context_report(x: DistributedFeatures, model: ProductModel) -> dict[str, Any]:
    """Report as on one machine; the number of features is estimated from the buckets that the model uses."""
    buckets = 1 << x.settings.bits
    used = int(np.count_nonzero(model.weights.reshape(-1, model.width).any(axis=1)))
    # With every bucket in use there may be any number of features.
    features = None if used == buckets else round(float(np.log1p(-used / buckets) / np.log1p(-1 / buckets)))
    return x.report(features, used)
