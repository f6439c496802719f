"""Postgres: exact times, booleans as numbers, and results read through COPY.

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

# For one transaction: the text of values must not depend on the settings of a server or a role.
TEXT_FORMAT = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1"
NULL = r"\N"
BLOCK = 1 << 22
# Later than any timestamp: infinite times become null.
LATEST_SECOND = 1e13


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="date_part", signature=((ibis.dtype("string"), ibis.dtype("timestamp")), ibis.dtype("float64"))
)
def _date_part(part: Any, moment: Any) -> Any:
    """Declare Postgres's built-in function to Ibis."""


def epoch_microseconds(moment: ir.Value) -> ir.Value:
    """Return a timestamp expression as microseconds since 1970, UTC: whole seconds and the rest, both exact."""
    moment = moment if moment.type().is_timestamp() else moment.cast("timestamp")
    second = _date_part("epoch", moment.truncate("s"))
    finite = (second.abs() < LATEST_SECOND).ifelse(second, ibis.null("float64"))
    return finite.cast("int64") * 1_000_000 + _date_part("microseconds", moment).cast("int64") % 1_000_000


@contextmanager
def batches(backend: Backend, expression: ir.Table) -> Iterator[pa.RecordBatchReader]:
    """Run an expression and give its rows as Arrow batches of a few megabytes."""
    import pyarrow as pa

    expression = _with_castable_booleans(expression)
    query = f"COPY ({backend.compile(expression)}) TO STDOUT (FORMAT csv, NULL '{NULL}')"
    schema = pa.schema(list(zip(expression.columns, expression.schema().to_pyarrow().types, strict=True)))
    with backend.con.transaction(), backend.con.cursor() as cursor:
        cursor.execute(TEXT_FORMAT)
        with cursor.copy(query) as lines:
            yield pa.RecordBatchReader.from_batches(schema, _parsed(lines, schema))


def _parsed(lines: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Parse CSV lines, each a whole row, into batches. Empty text is written as nothing, null as its marker."""
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
        # One thread: Arrow parses the block as one piece.
        reading = csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=schema.names)
        yield from csv.read_csv(pa.BufferReader(block), reading, layout, values).to_batches()


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(bytes(line))
        size += len(line)
        if size >= BLOCK:
            yield b"".join(block)
            block, size = [], 0
    if block:
        yield b"".join(block)


def _with_castable_booleans(expression: ir.Table) -> ir.Table:
    """Return the expression with booleans cast through int32, the only number that Postgres casts them to."""

    def by_way_of_int32(node: Any, kwargs: Any) -> Any:
        node = node.__recreate__(kwargs) if kwargs else node
        if isinstance(node, ops.Cast) and node.arg.dtype.is_boolean() and node.to.is_numeric():
            return ops.Cast(ops.Cast(node.arg, "int32"), node.to)
        return node

    return expression.op().replace(by_way_of_int32).to_expr()
