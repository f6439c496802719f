"""What is done with one part of the cells, where it is: a pass of learning, predictions, factors, a ranking.

Every function takes the tables of a part and what all parts are inputs, and returns a table. Rows come in any order and
are put into that of their keys, so that a part that is done again gives the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.engine.partitioned import PART
from warmstart.features import FeatureRows
from warmstart.features.read_distributed import BUCKETS, VALUES
from warmstart.reward.credibility import CONTEXT_HALF, Credibility, factors, factors_of_cells
from warmstart.reward.examples import SUMS, Examples, Numbering
from warmstart.reward.learner import CELL_DECAY, ranked, repeated
from warmstart.reward.product import ProductModel, Stream, by_shuffled_context

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.reward.settings import FitSettings

NUMBER, PREDICTED = "number", "predicted"
# Weights travel in pieces of so many; a piece in which nothing moved does not travel.
PIECE = 1 << 16
LOSS = -1


@dataclass(frozen=True, eq=False)
class Sides:
    """The features of actions by number, those of a context without a row, and the names of the context's keys."""

    actions: FeatureRows
    alone: FeatureRows
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass: the weights to start from for every rate, and how cells are weighted."""

    sides: Sides
    settings: FitSettings
    number: int
    tables: Mapping[float, NDArray[np.float32]]
    tau: float
    mean_weight: float


@dataclass(frozen=True, eq=False)
class Factors:
    """What is known of ids so far; of actions nothing (None) before the first round."""

    keys: tuple[str, ...]
    lowest: float
    by_action: NDArray[np.float64] | None
    actions: int


@dataclass(frozen=True, eq=False)
class Part:
    """The cells of a part in the order of their keys, and what the model predicts of them, once it was asked."""

    examples: Examples
    contexts: Numbering
    predicted: NDArray[np.float64]

    @classmethod
    def of(cls, cells: pa.Table, keys: Sequence[str]) -> Self:
        """Number the contexts of a table of cells, whose actions have numbers."""
        contexts = Numbering.of_rows(cells.select(list(keys)))
        x, a = contexts.numbers(cells), to_numpy(cells[NUMBER])
        order = np.lexsort((a, x))
        sums = (to_numpy(cells[name])[order] for name in SUMS)
        predicted = to_numpy(cells[PREDICTED])[order] if PREDICTED in cells.column_names else np.zeros(len(order))
        return cls(Examples(x[order], a[order], *sums), contexts, predicted)

    def features(self, contexts: pa.Table, alone: FeatureRows) -> FeatureRows:
        """Return the features of the contexts in the order of their numbers; all of them are in the table."""
        rows = FeatureRows.of_lists(contexts[BUCKETS], contexts[VALUES], alone)
        return rows.take(np.argsort(self.contexts.numbers(contexts)))

    def expected(self, lowest: float) -> NDArray[np.float64]:
        """Return what the cells' events are expected to earn by the model alone."""
        expected: NDArray[np.float64] = self.examples.n * np.maximum(self.predicted, lowest)
        return expected

    def factors(self, known: Factors) -> Credibility:
        """Return the factors of the contexts and the cells of this part, given those of actions."""
        cells, expected = self.examples, self.expected(known.lowest)
        if known.by_action is None:
            return Credibility(
                known.lowest, *(np.ones(size) for size in (known.actions, len(self.contexts), len(cells)))
            )
        given = expected * known.by_action[cells.actions]
        by_context = factors(cells.contexts, given, cells, len(self.contexts), CONTEXT_HALF)
        own = factors_of_cells(expected, known.by_action, by_context, cells)
        return Credibility(known.lowest, known.by_action, by_context, own)

    def rows(self, cells: NDArray[np.int64], **more: NDArray[Any]) -> pa.Table:
        """Return some of the cells: their contexts' keys, the numbers of their actions, and other columns."""
        import pyarrow as pa

        keys = self.contexts.keys.take(to_arrow(self.examples.contexts[cells]))
        columns = {NUMBER: self.examples.actions[cells], **more}
        return pa.table([*keys.columns, *columns.values()], names=[*keys.column_names, *columns])


def learn_part(tables: Sequence[pa.Table], inputs: Pass) -> pa.Table:
    """Pass once over the cells of a part; return how far the pieces of the weights moved, and the loss."""
    import pyarrow as pa

    from warmstart.kernels.product import LOGISTIC, SQUARED, train

    cells = Part.of(tables[0], inputs.sides.keys)
    examples, x, a = cells.examples, cells.features(tables[1], inputs.sides.alone), inputs.sides.actions
    weights = examples.n / np.maximum(examples.propensity, inputs.tau) / inputs.mean_weight
    targets = examples.means.astype(np.float32)
    stream = repeated(Stream(examples.contexts, examples.actions, targets, weights.astype(np.float32)))
    part = tables[0][PART][0].as_py()
    order = by_shuffled_context(stream.contexts, np.random.default_rng([inputs.settings.seed, inputs.number, part]))
    rows = (*x.arrays, x.squares, *a.arrays, a.squares)
    width, kind = 1 << inputs.settings.bits[1], LOGISTIC if inputs.settings.loss == "logistic" else SQUARED
    moves: list[tuple[Any, ...]] = []
    for rate, start in inputs.tables.items():
        table = start.copy()
        learned = (order, stream.contexts, stream.actions, stream.targets, stream.importance)
        loss = train(*learned, *rows, table, width, rate * CELL_DECAY**inputs.number, kind)
        moves.append((rate, LOSS, part, b"", float(loss), float(stream.importance.sum())))
        table -= start
        for piece in range(-(-len(table) // PIECE)):
            moved = table[piece * PIECE : (piece + 1) * PIECE]
            if moved.any():
                moves.append((rate, piece, part, moved.tobytes(), 0.0, 0.0))
    return pa.table([list(column) for column in zip(*moves, strict=True)], schema=_move_schema())


def average_pieces(tables: Sequence[pa.Table], _: None) -> pa.Table:
    """Average what parts learned, weight by weight, over the parts that moved it; add up their losses."""
    import pyarrow as pa

    names = ("rate", "piece", "part", "moved", "loss", "weight")
    rows = tables[0].select(names).sort_by([(name, "ascending") for name in names[:3]]).to_pylist()
    averages = []
    for (rate, piece), group in groupby(rows, key=lambda row: (row["rate"], row["piece"])):
        several = list(group)
        moves = np.array([np.frombuffer(row["moved"], dtype=np.float32) for row in several])
        average = (moves.sum(axis=0) / np.maximum((moves != 0).sum(axis=0), 1)).astype(np.float32)
        sums = (sum(row[name] for row in several) for name in ("loss", "weight"))
        averages.append((rate, piece, 0, average.tobytes(), *sums))
    return pa.table([list(column) for column in zip(*averages, strict=True)], schema=_move_schema())


def predict_part(tables: Sequence[pa.Table], inputs: tuple[Sides, ProductModel]) -> pa.Table:
    """Predict what the cells of a part earn."""
    sides, model = inputs
    cells = Part.of(tables[0], sides.keys)
    examples = cells.examples
    found = model.predict(
        examples.contexts, examples.actions, cells.features(tables[1], sides.alone), sides.actions
    ).astype(np.float64)
    sums = {name: getattr(examples, name) for name in SUMS}
    return cells.rows(np.arange(len(examples)), **sums, **{PREDICTED: found})


def expect_part(tables: Sequence[pa.Table], inputs: Factors) -> pa.Table:
    """Return what actions are expected to earn in a part, given the factors of its contexts, and what they earned."""
    import pyarrow as pa

    cells = Part.of(tables[0], inputs.keys)
    examples = cells.examples
    given = cells.expected(inputs.lowest) * cells.factors(inputs).contexts[examples.contexts]
    sums = (np.bincount(examples.actions, weights=values) for values in (given, examples.reward_sum))
    seen = np.unique(examples.actions)
    expected, actual = (values[seen] for values in sums)
    return pa.table({NUMBER: seen, "expected": expected, "actual": actual})


def rank_part(tables: Sequence[pa.Table], inputs: tuple[Factors | None, Sequence[str], FitSettings]) -> pa.Table:
    """Rank the feasible actions of the contexts of a part; without factors, by the predictions alone."""
    known, keys, settings = inputs
    cells = Part.of(tables[0], keys)
    scores = cells.predicted if known is None else cells.factors(known).apply(cells.examples, cells.predicted)
    chosen, rank = ranked(cells.examples, scores, settings)
    return cells.rows(chosen, rank=rank, score=scores[chosen])


def _move_schema() -> pa.Schema:
    import pyarrow as pa

    kinds = (pa.float64(), pa.int32(), pa.int32(), pa.binary(), pa.float64(), pa.float64())
    return pa.schema(list(zip(("rate", "piece", "part", "moved", "loss", "weight"), kinds, strict=True)))
