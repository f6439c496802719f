"""Distributed SGD by parameter averaging: partitions train on their own cells, and weights are averaged between passes.

Iterative parameter mixing (McDonald, Hall and Mann, 2010), as Vowpal Wabbit does on a cluster. The number of partitions
depends on the cells alone, so that the same log gives the same model on any number of machines.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, silent, to_numpy
from warmstart.engine import PartitionBy, PartitionedEngine
from warmstart.events import counted_propensity
from warmstart.reward.credibility import LOWEST_SHARE, ROUNDS, Halves
from warmstart.reward.distributed_part import (
    BLOCK,
    LOSS,
    NUMBER,
    PREDICTED,
    UPDATES,
    BroadcastFeatures,
    FactorInputs,
    PassInputs,
    average_updates,
    predict_partition,
    rank_partition,
    sum_by_action,
    train_partition,
)
from warmstart.reward.examples import SUMS
from warmstart.reward.learner import CELL_PASSES
from warmstart.reward.product import ProductModel
from warmstart.reward.settings import FitSettings

CELLS_PER_PARTITION, FEWEST_PARTITIONS = 100_000, 2


def partition_count(cells: int) -> int:
    """Return the number of partitions for so many cells."""
    return max(FEWEST_PARTITIONS, -(-cells // CELLS_PER_PARTITION))


@dataclass(frozen=True, eq=False)
class DistributedRewards:
    """A model, the factors of actions, the least prediction, and a ranking materialised in the engine."""

    model: ProductModel
    factors: NDArray[np.float64]
    lowest: float
    ranking: ir.CachedTable


@dataclass(frozen=True, eq=False)
class DistributedLearner:
    """Cells (context keys, ``number`` of the action, sums) and contexts (keys, features) of one engine."""

    engine: PartitionedEngine
    cells: ir.Table
    contexts: ir.Table
    features: BroadcastFeatures
    settings: FitSettings
    partitions: int

    def learn(self, tau: float, halves: Halves, on_progress: Progress = silent) -> DistributedRewards:
        """Learn from cells with weights 1 / max(propensity, tau); rank the feasible actions of every context."""
        model = self._model(tau, on_progress)
        with ExitStack() as resources:
            schema = {**self._keys, NUMBER: "int64", **dict.fromkeys((*SUMS, PREDICTED), "float64")}
            tables = (self.cells, self.contexts)
            predicted = self.engine.materialise(self._map(tables, predict_partition, schema, (self.features, model)))
            resources.callback(predicted.release)
            known = None if self.settings.cross_only else self._factors(predicted, halves)
            schema = {**self._keys, NUMBER: "int64", "rank": "int32", "score": "float64"}
            inputs = (known, self.features.keys, self.settings)
            ranking = self.engine.materialise(self._map((predicted,), rank_partition, schema, inputs))
        if known is None or known.by_action is None:
            return DistributedRewards(model, np.ones(len(self.features.actions)), 0.0, ranking)
        return DistributedRewards(model, known.by_action, known.lowest, ranking)

    @property
    def _keys(self) -> dict[str, Any]:
        return {key: self.cells[key].type() for key in self.features.keys}

    def _map(self, tables: Any, function: Any, schema: Any, inputs: Any) -> ir.Table:
        parts = PartitionBy(self.features.keys, self.partitions)
        return self.engine.map_partitions(tables, parts, function, ibis.schema(schema), inputs=inputs)

    def _model(self, tau: float, report: Progress) -> ProductModel:
        size = 1 << sum(self.settings.bits)
        tables = {rate: np.zeros(size, dtype=np.float32) for rate in self.settings.learning_rates}
        cells = self.cells
        weight = (cells.n / ibis.greatest(counted_propensity(cells), ibis.literal(tau, "float64"))).mean()
        # Rounded: the last digits of a sum depend on the order in which partitions arrive.
        mean_weight = float(f"{self.engine.fetch(cells.agg(mean=weight))[0]['mean']:.6g}")
        losses: dict[float, float] = {}
        for number in range(CELL_PASSES):
            inputs = PassInputs(self.features, self.settings, number, tables, tau, mean_weight)
            pass_losses = self._one_pass(inputs)
            losses = losses or pass_losses
            best = min(tables, key=lambda rate: losses[rate])
            tables = {best: tables[best]}
            report("learning", (number + 1) / CELL_PASSES, f"loss {losses[best]:.5f}")
        return ProductModel(tables[best], 1 << self.settings.bits[1], self.settings.loss, best, losses[best])

    def _one_pass(self, inputs: PassInputs) -> dict[float, float]:
        """Train every partition, add the average update to the weights, and return the mean loss of every rate."""
        updates = self._map((self.cells, self.contexts), train_partition, UPDATES, inputs)
        blocks = PartitionBy(("rate", "block"), -(-(1 << sum(self.settings.bits)) // BLOCK))
        averages = self.engine.map_partitions((updates,), blocks, average_updates, UPDATES, inputs=None)
        losses = {}
        for batch in self.engine.stream(averages):
            for row in batch.to_pylist():
                if row["block"] == LOSS:
                    losses[row["rate"]] = row["loss"] / max(row["weight"], 1e-12)
                else:
                    begin = row["block"] * BLOCK
                    update = np.frombuffer(row["update"], dtype=np.float32)
                    inputs.tables[row["rate"]][begin : begin + len(update)] += update
        return losses

    def _factors(self, predicted: ir.Table, halves: Halves) -> FactorInputs:
        """Fit factors in turn, as on one machine: those of contexts in partitions, those of actions between rounds."""
        totals = self.engine.fetch(predicted.agg(rewards=predicted.reward_sum.sum(), events=predicted.n.sum()))[0]
        actions = len(self.features.actions)
        lowest = LOWEST_SHARE * totals["rewards"] / totals["events"]
        known = FactorInputs(self.features.keys, lowest, None, actions, halves)
        schema = {NUMBER: "int64", "expected": "float64", "actual": "float64"}
        for _ in range(ROUNDS):
            sums = self._map((predicted,), sum_by_action, schema, known)
            summed = sums.group_by(NUMBER).agg(expected=sums.expected.sum(), actual=sums.actual.sum())
            by_action = np.ones(actions)
            for batch in self.engine.stream(summed):
                number, expected, actual = (to_numpy(batch[name]) for name in (NUMBER, "expected", "actual"))
                by_action[number] = (actual + halves.action) / (expected + halves.action)
            known = FactorInputs(known.keys, known.lowest, by_action, actions, halves)
        return known
