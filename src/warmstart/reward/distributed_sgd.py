"""The model learned where the cells are: every part passes over its own, and between passes the weights are averaged.

Iterative parameter mixing (McDonald, Hall and Mann, 2010), as Vowpal Wabbit does on a cluster. How many parts there are
depends on the cells alone, so that the same log gives the same model on any number of machines.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from warmstart.core.arrays import to_numpy
from warmstart.core.progress import Progress, silent
from warmstart.engine import Parts
from warmstart.reward.credibility import ACTION_HALF, LOWEST_SHARE, ROUNDS
from warmstart.reward.distributed_part import (
    LOSS,
    NUMBER,
    PIECE,
    PREDICTED,
    Factors,
    Pass,
    Sides,
    average_pieces,
    expect_part,
    learn_part,
    predict_part,
    rank_part,
)
from warmstart.reward.examples import SUMS
from warmstart.reward.learner import CELL_PASSES
from warmstart.reward.product import ProductModel

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import PartitionedEngine
    from warmstart.reward.settings import FitSettings

CELLS_IN_A_PART, FEWEST_PARTS = 100_000, 2
MOVES = ibis.schema(
    {"rate": "float64", "piece": "int32", "part": "int32", "moved": "binary", "loss": "float64", "weight": "float64"}
)


def parts_of(cells: int) -> int:
    """Return into how many parts cells are taken."""
    return max(FEWEST_PARTS, -(-cells // CELLS_IN_A_PART))


@dataclass(frozen=True, eq=False)
class LearnedDistributed:
    """A model, the factors of actions, the least that is predicted, and a ranking held in the engine."""

    model: ProductModel
    by_action: NDArray[np.float64]
    lowest: float
    ranking: ir.CachedTable


@dataclass(frozen=True, eq=False)
class DistributedLearner:
    """Cells (context keys, ``number`` of the action, sums) and contexts (keys, features) of one engine."""

    engine: PartitionedEngine
    cells: ir.Table
    contexts: ir.Table
    sides: Sides
    settings: FitSettings
    parts: int

    def learn(self, tau: float, on_progress: Progress = silent) -> LearnedDistributed:
        """Learn from cells with weights 1 / max(propensity, tau); rank the feasible actions of every context."""
        model = self._model(tau, on_progress)
        with ExitStack() as kept:
            schema = {**self._keys, NUMBER: "int64", **dict.fromkeys((*SUMS, PREDICTED), "float64")}
            tables = (self.cells, self.contexts)
            predicted = self.engine.materialise(self._in_parts(tables, predict_part, schema, (self.sides, model)))
            kept.callback(predicted.release)
            known = None if self.settings.cross_only else self._factors(predicted)
            schema = {**self._keys, NUMBER: "int64", "rank": "int32", "score": "float64"}
            inputs = (known, self.sides.keys, self.settings)
            ranking = self.engine.materialise(self._in_parts((predicted,), rank_part, schema, inputs))
        if known is None or known.by_action is None:
            return LearnedDistributed(model, np.ones(len(self.sides.actions)), 0.0, ranking)
        return LearnedDistributed(model, known.by_action, known.lowest, ranking)

    @property
    def _keys(self) -> dict[str, Any]:
        return {key: self.cells[key].type() for key in self.sides.keys}

    def _in_parts(self, tables: Any, function: Any, schema: dict[str, Any], inputs: Any) -> ir.Table:
        parts = Parts(self.sides.keys, self.parts)
        return self.engine.map_partitions(tables, parts, function, ibis.schema(schema), inputs=inputs)

    def _model(self, tau: float, on_progress: Progress) -> ProductModel:
        size = 1 << sum(self.settings.bits)
        tables = {rate: np.zeros(size, dtype=np.float32) for rate in self.settings.learning_rates}
        cells = self.cells
        weight = (cells.n / ibis.greatest(cells.n / cells.context_n, ibis.literal(tau, "float64"))).mean()
        # Rounded: the last digits of a sum depend on the order in which parts arrive.
        mean_weight = float(f"{self.engine.fetch(cells.agg(mean=weight))[0]['mean']:.6g}")
        losses: dict[float, float] = {}
        for number in range(CELL_PASSES):
            inputs = Pass(self.sides, self.settings, number, tables, tau, mean_weight)
            found = self._one_pass(inputs)
            losses = losses or found
            best = min(tables, key=lambda rate: losses[rate])
            tables = {best: tables[best]}
            on_progress("learning", (number + 1) / CELL_PASSES, f"loss {losses[best]:.5f}")
        return ProductModel(tables[best], 1 << self.settings.bits[1], self.settings.loss, best, losses[best])

    def _one_pass(self, inputs: Pass) -> dict[float, float]:
        """Let every part learn, move the weights by the average, and return the mean loss of every rate."""
        parts, tables = Parts(self.sides.keys, self.parts), (self.cells, self.contexts)
        moves = self.engine.map_partitions(tables, parts, learn_part, MOVES, inputs=inputs)
        pieces = Parts(("rate", "piece"), -(-(1 << sum(self.settings.bits)) // PIECE))
        averages = self.engine.map_partitions((moves,), pieces, average_pieces, MOVES, inputs=None)
        losses = {}
        for batch in self.engine.stream(averages):
            for row in batch.to_pylist():
                if row["piece"] == LOSS:
                    losses[row["rate"]] = row["loss"] / max(row["weight"], 1e-12)
                else:
                    begin = row["piece"] * PIECE
                    moved = np.frombuffer(row["moved"], dtype=np.float32)
                    inputs.tables[row["rate"]][begin : begin + len(moved)] += moved
        return losses

    def _factors(self, predicted: ir.Table) -> Factors:
        """Fit factors in turn, as on one machine: those of contexts in the parts, those of actions between rounds."""
        sums = self.engine.fetch(predicted.agg(rewards=predicted.reward_sum.sum(), events=predicted.n.sum()))[0]
        actions = len(self.sides.actions)
        known = Factors(self.sides.keys, LOWEST_SHARE * sums["rewards"] / sums["events"], None, actions)
        schema = {NUMBER: "int64", "expected": "float64", "actual": "float64"}
        for _ in range(ROUNDS):
            parts = self._in_parts((predicted,), expect_part, schema, known)
            summed = parts.group_by(NUMBER).agg(expected=parts.expected.sum(), actual=parts.actual.sum())
            by_action = np.ones(actions)
            for batch in self.engine.stream(summed):
                number, expected, actual = (to_numpy(batch[name]) for name in (NUMBER, "expected", "actual"))
                by_action[number] = (actual + ACTION_HALF) / (expected + ACTION_HALF)
            known = Factors(known.keys, known.lowest, by_action, actions)
        return known
