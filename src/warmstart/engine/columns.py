"""Numbers from the engine to NumPy and back, without a detour through pandas, which Arrow's own ways import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine.engine import Engine


def fetch_columns(engine: Engine, rows: ir.Table) -> list[NDArray[Any]]:
    """Run an expression of numbers without nulls and return its columns; what they hold is not to be written."""
    import numpy as np

    return [np.from_dlpack(column.combine_chunks()) for column in engine.fetch_arrow(rows).columns]


def open_columns(engine: Engine, columns: Mapping[str, NDArray[Any]]) -> ir.Table:
    """Show arrays of numbers to the engine as a table."""
    import pyarrow as pa

    arrays = [
        pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
        for values in columns.values()
    ]
    return engine.open_arrow(pa.table(arrays, names=list(columns)))
