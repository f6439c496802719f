"""What is particular about Postgres: exact times, booleans as numbers, and rows that leave by COPY.

COPY, not a cursor: Postgres uses several processes for it, and its text has every number to the last digit under the
type that the expression promises, where a driver returns decimals for some sums.
"""

from __future__ import annotations

import io
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
    from pyarrow import csv

    expression = _without_casts_of_booleans(expression)
    query = f"COPY ({backend.compile(expression)}) TO STDOUT (FORMAT csv, NULL '{NULL}')"
    schema = expression.schema().to_pyarrow()
    connection = backend.con
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(AS_WRITTEN)
        with cursor.copy(query) as copy:
            lines = _Lines(copy)
            if lines.ended:
                yield pa.RecordBatchReader.from_batches(schema, [])
                return
            yield csv.open_csv(
                lines,
                csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=schema.names),
                csv.ParseOptions(newlines_in_values=True),
                csv.ConvertOptions(
                    column_types=schema,
                    null_values=[NULL],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    true_values=["t"],
                    false_values=["f"],
                ),
            )


def _without_casts_of_booleans(expression: ir.Table) -> ir.Table:
    """Cast booleans by way of int32, the only number that Postgres casts them to."""

    def by_way_of_int32(node: Any, kwargs: Any) -> Any:
        node = node.__recreate__(kwargs) if kwargs else node
        if isinstance(node, ops.Cast) and node.arg.dtype.is_boolean() and node.to.is_numeric():
            return ops.Cast(ops.Cast(node.arg, "int32"), node.to)
        return node

    return expression.op().replace(by_way_of_int32).to_expr()


class _Lines(io.RawIOBase):
    """What COPY sends, a line a piece, as a file."""

    def __init__(self, pieces: Iterable[Any]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")
        self.ended = False
        self._fill()

    def _fill(self) -> None:
        taken, size = [], 0
        for piece in self._pieces:
            taken.append(bytes(piece))
            size += len(taken[-1])
            if size >= BLOCK:
                break
        self._left = memoryview(b"".join(taken))
        self.ended = not taken

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        if not self._left and not self.ended:
            self._fill()
        taken = min(len(into), len(self._left))
        into[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken
