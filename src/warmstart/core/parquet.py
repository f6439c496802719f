"""Parquet files written a batch at a time, with columns under the user's own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def write_parquet(path: Path, tables: Iterable[pa.Table], schema: pa.Schema | None = None) -> int:
    """Write tables as row groups of one file, with this schema or that of the first; return the number of rows."""
    import pyarrow.parquet as pq

    writer = None if schema is None else pq.ParquetWriter(path, schema, compression="zstd")
    rows = 0
    try:
        for table in tables:
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            if table.num_rows:
                writer.write_table(table.cast(writer.schema))
                rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def with_given_names(batch: pa.RecordBatch, given: Mapping[str, str], *, time: str) -> pa.Table:
    """Return the columns that ``given`` maps to the user's names, under these; epoch microseconds as timestamps."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch]).select(list(given))
    if time in given:
        moments = table[time].cast(pa.timestamp("us", "UTC"))
        table = table.set_column(table.column_names.index(time), time, moments)
    return table.rename_columns(list(given.values()))
