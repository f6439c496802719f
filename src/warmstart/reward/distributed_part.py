"""What the distributed learner does on one partition of the cells: an SGD pass, predictions, factors, a ranking.

Every function takes the tables of a partition and the inputs broadcast to all, and returns a table. Rows come in any
order and are sorted by their keys, so that a partition that is computed again gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import to_arrow, to_numpy
from warmstart.engine import PART
from warmstart.features import FeatureRows, KeyEncoder, rows_of_lists
from warmstart.reward.credibility import Credibility, Halves, factors, factors_of_cells
from warmstart.reward.examples import SUMS, Examples
from warmstart.reward.learner import CELL_DECAY, cell_stream, rank_feasible, repeat_if_short
from warmstart.reward.product import ProductModel, by_shuffled_context, train_pass
from warmstart.reward.settings import FitSettings

NUMBER, PREDICTED = "number", "predicted"
# Weight updates are exchanged in blocks of so many weights; a block without updates is not sent.
BLOCK = 1 << 16
# The block number of rows that carry a partition's loss instead.
LOSS = -1
UPDATES = ibis.schema(
    {"rate": "float64", "block": "int32", "part": "int32", "update": "binary", "loss": "float64", "weight": "float64"}
)


@dataclass(frozen=True, eq=False)
class BroadcastFeatures:
    """Broadcast to every partition: features of actions, of a context without a row, and the context's key names."""

    actions: FeatureRows
    alone: FeatureRows
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PassInputs:
    """Broadcast for one SGD pass: the weights to start from for every rate, and how cells are weighted."""

    features: BroadcastFeatures
    settings: FitSettings
    number: int
    tables: Mapping[float, NDArray[np.float32]]
    tau: float
    mean_weight: float


@dataclass(frozen=True, eq=False)
class FactorInputs:
    """Broadcast for one round of factors: those of actions so far (None before the first round)."""

    keys: tuple[str, ...]
    lowest: float
    by_action: NDArray[np.float64] | None
    actions: int
    halves: Halves


@dataclass(frozen=True, eq=False)
class Partition:
    """The cells of a partition in the order of their keys, and the model's predictions for them, if there are any."""

    examples: Examples
    contexts: KeyEncoder
    predicted: NDArray[np.float64]

    @classmethod
    def of(cls, cells: pa.Table, keys: Sequence[str]) -> Self:
        """Encode the contexts of a table of cells, whose actions are numbers already."""
        contexts = KeyEncoder.of(cells.select(list(keys)))
        x, a = contexts.numbers(cells), to_numpy(cells[NUMBER])
        order = np.lexsort((a, x))
        sums = (to_numpy(cells[name])[order] for name in SUMS)
        predicted = to_numpy(cells[PREDICTED])[order] if PREDICTED in cells.column_names else np.zeros(len(order))
        return cls(Examples(x[order], a[order], *sums), contexts, predicted)

    def features(self, contexts: pa.Table, alone: FeatureRows) -> FeatureRows:
        """Return the features of the contexts in the order of their numbers; all of them are in the table."""
        return rows_of_lists(contexts, alone).take(np.argsort(self.contexts.numbers(contexts)))

    def expected(self, lowest: float) -> NDArray[np.float64]:
        """Return the expected rewards of the cells' events by the model alone."""
        expected: NDArray[np.float64] = self.examples.n * np.maximum(self.predicted, lowest)
        return expected

    def factors(self, inputs: FactorInputs) -> Credibility:
        """Return the factors of the contexts and the cells of this partition, given those of actions."""
        cells, expected, by_action = self.examples, self.expected(inputs.lowest), inputs.by_action
        if by_action is None:
            sizes = (inputs.actions, len(self.contexts), len(cells))
            return Credibility(inputs.lowest, *(np.ones(size) for size in sizes))
        given = expected * by_action[cells.actions]
        by_context = factors(cells.contexts, given, cells, len(self.contexts), inputs.halves.context)
        own = factors_of_cells(expected, by_action, by_context, cells, inputs.halves.cell)
        return Credibility(inputs.lowest, by_action, by_context, own)

    def rows(self, cells: NDArray[np.int64], **more: NDArray[Any]) -> pa.Table:
        """Return cells as a table: their contexts' keys, the numbers of their actions, and other columns."""
        keys = self.contexts.keys.take(to_arrow(self.examples.contexts[cells]))
        columns = {NUMBER: self.examples.actions[cells], **more}
        return pa.table([*keys.columns, *columns.values()], names=[*keys.column_names, *columns])


def train_partition(tables: Sequence[pa.Table], inputs: PassInputs) -> pa.Table:
    """Run one SGD pass over the cells of a partition; return the updates of its weights in blocks, and the loss."""
    settings = inputs.settings
    cells = Partition.of(tables[0], inputs.features.keys)
    x = cells.features(tables[1], inputs.features.alone)
    stream = repeat_if_short(cell_stream(cells.examples, inputs.tau, inputs.mean_weight))
    part = tables[0][PART][0].as_py()
    order = by_shuffled_context(stream.contexts, np.random.default_rng([settings.seed, inputs.number, part]))
    decay = CELL_DECAY**inputs.number
    updates: list[tuple[Any, ...]] = []
    for rate, start in inputs.tables.items():
        weights = start.copy()
        options: dict[str, Any] = {"width": 1 << settings.bits[1], "rates": (rate * decay,), "loss": settings.loss}
        (loss,) = train_pass(stream, order, x, inputs.features.actions, weights, **options)
        updates.append((rate, LOSS, part, b"", loss, float(stream.importance.sum())))
        weights -= start
        for block in range(-(-len(weights) // BLOCK)):
            update = weights[block * BLOCK : (block + 1) * BLOCK]
            if update.any():
                updates.append((rate, block, part, update.tobytes(), 0.0, 0.0))
    return _update_table(updates)


def average_updates(tables: Sequence[pa.Table], _: None) -> pa.Table:
    """Average the updates of every weight over the partitions that changed it; add up their losses."""
    names = UPDATES.names
    rows = tables[0].select(names).sort_by([(name, "ascending") for name in names[:3]]).to_pylist()
    averages = []
    for (rate, block), group in groupby(rows, key=lambda row: (row["rate"], row["block"])):
        partitions = list(group)
        updates = np.array([np.frombuffer(row["update"], dtype=np.float32) for row in partitions])
        average = (updates.sum(axis=0) / np.maximum((updates != 0).sum(axis=0), 1)).astype(np.float32)
        sums = (sum(row[name] for row in partitions) for name in ("loss", "weight"))
        averages.append((rate, block, 0, average.tobytes(), *sums))
    return _update_table(averages)


def predict_partition(tables: Sequence[pa.Table], inputs: tuple[BroadcastFeatures, ProductModel]) -> pa.Table:
    """Predict the rewards of the cells of a partition."""
    features, model = inputs
    cells = Partition.of(tables[0], features.keys)
    examples = cells.examples
    x = cells.features(tables[1], features.alone)
    predicted = model.predict(examples.contexts, examples.actions, x, features.actions).astype(np.float64)
    sums = {name: getattr(examples, name) for name in SUMS}
    return cells.rows(np.arange(len(examples)), **sums, **{PREDICTED: predicted})


def sum_by_action(tables: Sequence[pa.Table], inputs: FactorInputs) -> pa.Table:
    """Sum by action, in a partition, the rewards expected with the factors of its contexts, and the actual ones."""
    cells = Partition.of(tables[0], inputs.keys)
    examples = cells.examples
    given = cells.expected(inputs.lowest) * cells.factors(inputs).contexts[examples.contexts]
    sums = (np.bincount(examples.actions, weights=values) for values in (given, examples.reward_sum))
    seen = np.unique(examples.actions)
    expected, actual = (values[seen] for values in sums)
    return pa.table({NUMBER: seen, "expected": expected, "actual": actual})


def rank_partition(
    tables: Sequence[pa.Table], inputs: tuple[FactorInputs | None, Sequence[str], FitSettings]
) -> pa.Table:
    """Rank the feasible actions of the contexts of a partition; without factors, by the predictions alone."""
    known, keys, settings = inputs
    cells = Partition.of(tables[0], keys)
    scores = cells.predicted if known is None else cells.factors(known).apply(cells.examples, cells.predicted)
    chosen, rank = rank_feasible(cells.examples, scores, settings)
    return cells.rows(chosen, rank=rank, score=scores[chosen])


def _update_table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=UPDATES.to_pyarrow())
