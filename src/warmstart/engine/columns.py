"""Columns of numbers from the engine to NumPy and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warmstart.core.arrays import to_arrow, to_numpy

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine.engine import Engine


def fetch_columns(engine: Engine, rows: ir.Table) -> list[NDArray[Any]]:
    """Run an expression of numbers without nulls and return its columns; what they hold is not to be written."""
    return [to_numpy(column) for column in engine.fetch_arrow(rows).columns]


def open_columns(engine: Engine, columns: Mapping[str, NDArray[Any]]) -> ir.Table:
    """Show arrays of numbers to the engine as a table."""
    import pyarrow as pa

    return engine.open_arrow(pa.table({name: to_arrow(values) for name, values in columns.items()}))
