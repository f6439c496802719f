"""Tables to be written, with columns under the user's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def with_given_names(batch: pa.RecordBatch, given: Mapping[str, str], *, time: str) -> pa.Table:
    """Return the columns that ``given`` maps to the user's names, under these; epoch microseconds as timestamps."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch]).select(list(given))
    if time in given:
        moments = table[time].cast(pa.timestamp("us", "UTC"))
        table = table.set_column(table.column_names.index(time), time, moments)
    return table.rename_columns(list(given.values()))
