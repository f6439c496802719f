"""Functions that run where the rows are, on an engine that spreads over processes or machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from warmstart.core import to_arrow, to_numpy
from warmstart.engine.engine import Engine, LocalEngine

if TYPE_CHECKING:
    import ibis.expr.schema as sch
    import ibis.expr.types as ir
    import pyarrow as pa
    from numpy.typing import NDArray

    Predict = Callable[[pa.Table, Any], NDArray[np.float64]]

# A batch of rows and broadcast inputs to other rows.
MapRows = Callable[["pa.Table", Any], "pa.Table"]
# A part's rows of each table, and broadcast inputs, to other rows. A column of the rows is the part's number.
MapPartition = Callable[[Sequence["pa.Table"], Any], "pa.Table"]
PART = "part_of_all"
HASHES = 1_000_000
ROW = "row_of_all"


@dataclass(frozen=True)
class PartitionBy:
    """How rows are divided into parts: those with the same keys are in the same one."""

    keys: tuple[str, ...]
    number: int


class PartitionedEngine(LocalEngine, Protocol):
    """An engine whose rows lie in parts. Functions are sent to them by name: the workers have warmstart too."""

    def map_batches(self, rows: ir.Table, function: MapRows, schema: sch.Schema, *, inputs: Any) -> ir.Table:
        """Turn rows into others, some at a time and in any order."""
        ...

    def map_partitions(
        self, tables: Sequence[ir.Table], parts: PartitionBy, function: MapPartition, schema: sch.Schema, *, inputs: Any
    ) -> ir.Table:
        """Turn parts of one or two tables into other rows."""
        ...


def is_partitioned(engine: Engine) -> TypeGuard[PartitionedEngine]:
    """Tell whether an engine spreads its work over processes or machines."""
    return hasattr(engine, "map_partitions")


def fetch_streamed(engine: PartitionedEngine, rows: ir.Table) -> pa.Table:
    """Bring rows here whose number does not grow with the log, or that are part of a model."""
    import pyarrow as pa

    batches = list(engine.stream(rows))
    return pa.Table.from_batches(batches) if batches else engine.fetch_arrow(rows.limit(0))


def sample_by_key(rows: ir.Table, keys: Sequence[str], share: float) -> ir.Table:
    """Keep a share of the rows, all or none of those with the same keys, and the same keys of every table."""
    import ibis

    if share >= 1:
        return rows
    place = ibis.literal(0, "int64")
    for key in keys:
        place = (place * 31 + rows[key].hash().cast("int64") % HASHES) % HASHES
    return rows.filter(place.abs() < int(share * HASHES))


def add_predictions(
    engine: LocalEngine, rows: ir.Table, name: str, predict: Predict, inputs: Any, *, reads: Sequence[str]
) -> ir.Table:
    """Add a column of numbers that a Python model computes in batches, where the rows are; null for NaN.

    Args:
        engine: Where the rows are.
        rows: A table that is held in the engine.
        name: The column to add, or to replace.
        predict: A function of a module: a batch and the inputs to an array.
        inputs: What ``predict`` needs beside the batch; broadcast to the workers where there are any.
        reads: The columns that it reads.
    """
    import ibis
    import pyarrow as pa

    others = [column for column in rows.columns if column != name]
    if is_partitioned(engine):
        schema = ibis.schema({**{column: rows[column].type() for column in others}, name: "float64"})
        mapped = engine.map_batches(rows.select(*others), _with_predictions, schema, inputs=(name, predict, inputs))
        return engine.materialise(mapped)
    numbered = rows.mutate(**{ROW: rows.rowid()}).select(ROW, *others)
    batches: dict[str, list[NDArray[Any]]] = {ROW: [], name: []}
    for batch in engine.stream(numbered.select(*reads, ROW)):
        table = pa.Table.from_batches([batch])
        batches[ROW].append(to_numpy(table[ROW]))
        batches[name].append(predict(table, inputs))
    columns = engine.open_columns({column: np.concatenate(parts or [np.empty(0)]) for column, parts in batches.items()})
    known = columns[name].isnan().ifelse(ibis.null("float64"), columns[name])
    return numbered.join(columns.mutate(**{name: known}), ROW).drop(ROW)


def _with_predictions(rows: pa.Table, inputs: tuple[str, Predict, Any]) -> pa.Table:
    name, predict, model = inputs
    values = predict(rows, model)
    return rows.append_column(name, to_arrow(values, np.isfinite(values)))
