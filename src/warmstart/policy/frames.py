"""Frames of any library: as Arrow tables on the way in, as they came on the way out."""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

from warmstart.core import UsageError, quoted

Frame = TypeVar("Frame")


def as_table(frame: Any) -> pa.Table:
    """Return a pandas, polars or Arrow table as an Arrow table, without the index of pandas.

    >>> as_table(pa.table({"page": ["p"]})).num_rows
    1
    """
    if isinstance(frame, pa.Table):
        return frame
    match type(frame).__module__.partition(".")[0]:
        case "pandas":
            return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        case "polars":
            table = frame.lazy().collect().to_arrow()
            views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
            return table.cast(pa.schema([(one.name, views.get(one.type, one.type)) for one in table.schema]))
        case "pyarrow" if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
    raise UsageError(f"A {quoted(type(frame).__name__)} is no table.", "Pass a pandas, polars or Arrow table.")


def as_given(table: pa.Table, frame: Frame) -> Frame:
    """Return a table as a frame of the library that another one is of."""
    answer: Any = table
    match type(frame).__module__.partition(".")[0]:
        case "pandas":
            answer = table.to_pandas().set_axis(frame.index)  # type: ignore[attr-defined]
        case "polars":
            import polars as pl

            answer = pl.from_arrow(table)
    result: Frame = answer
    return result
