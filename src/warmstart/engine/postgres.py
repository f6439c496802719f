"""What is particular about Postgres: exact times, booleans as numbers, and rows that leave by COPY.

COPY, not a cursor: Postgres uses several processes for it, and its text has every number to the last digit under the
type that the expression promises, where a driver returns decimals for some sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends.postgres import Backend

# For one transaction: how values are written must not depend on the settings of a server or a role.
AS_WRITTEN = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1"
NULL = r"\N"
BLOCK = 1 << 22
# Later than any year a timestamp can have: an infinite time is none.
LATEST_SECOND = 1e13


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="date_part", signature=((ibis.dtype("string"), ibis.dtype("timestamp")), ibis.dtype("float64"))
)
def _date_part(part: Any, moment: Any) -> Any:
    """Name Postgres's own function for Ibis."""


def epoch_microseconds(moment: ir.Value) -> ir.Value:
    """Turn a timestamp expression into microseconds since 1970, UTC, by whole seconds and the rest: both are exact."""
    moment = moment if moment.type().is_timestamp() else moment.cast("timestamp")
    second = _date_part("epoch", moment.truncate("s"))
    finite = (second.abs() < LATEST_SECOND).ifelse(second, ibis.null("float64"))
    return finite.cast("int64") * 1_000_000 + _date_part("microseconds", moment).cast("int64") % 1_000_000


@contextmanager
def batches(backend: Backend, expression: ir.Table) -> Iterator[pa.RecordBatchReader]:
    """Run an expression and return its rows as they come, a few megabytes at a time."""
    import pyarrow as pa

    expression = _without_casts_of_booleans(expression)
    query = f"COPY ({backend.compile(expression)}) TO STDOUT (FORMAT csv, NULL '{NULL}')"
    types = zip(expression.columns, expression.schema().to_pyarrow().types, strict=True)
    schema = pa.schema(list(types))
    connection = backend.con
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(AS_WRITTEN)
        with cursor.copy(query) as lines:
            yield pa.RecordBatchReader.from_batches(schema, _read(lines, schema))


def _read(lines: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Turn lines, each a whole row, into batches. An empty text is written as nothing, and a null as its sign."""
    import pyarrow as pa
    from pyarrow import csv

    values = csv.ConvertOptions(
        column_types=schema,
        null_values=[NULL],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t"],
        false_values=["f"],
    )
    layout = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    for block in _blocks(lines):
        # One thread: the block is one piece to Arrow.
        whole = csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=schema.names)
        yield from csv.read_csv(pa.BufferReader(block), whole, layout, values).to_batches()


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    taken: list[bytes] = []
    size = 0
    for line in lines:
        taken.append(bytes(line))
        size += len(line)
        if size >= BLOCK:
            yield b"".join(taken)
            taken, size = [], 0
    if taken:
        yield b"".join(taken)


def _without_casts_of_booleans(expression: ir.Table) -> ir.Table:
    """Cast booleans by way of int32, the only number that Postgres casts them to."""

    def by_way_of_int32(node: Any, kwargs: Any) -> Any:
        node = node.__recreate__(kwargs) if kwargs else node
        if isinstance(node, ops.Cast) and node.arg.dtype.is_boolean() and node.to.is_numeric():
            return ops.Cast(ops.Cast(node.arg, "int32"), node.to)
        return node

    return expression.op().replace(by_way_of_int32).to_expr()
