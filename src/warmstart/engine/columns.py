"""Columns between the engine and NumPy, typed constants, and example rows for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from warmstart.core import TIME, excerpt, to_numpy
from warmstart.engine.engine import Engine


def fetch_columns(engine: Engine, rows: ir.Table) -> list[NDArray[Any]]:
    """Return the columns of a numeric expression without nulls as read-only NumPy arrays."""
    return [to_numpy(column) for column in engine.fetch_arrow(rows).columns]


def fetch_ordered(engine: Engine, rows: ir.Table, by: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return the columns of few rows, ordered here: to order them first costs a cluster two jobs and a shuffle."""
    columns = dict(zip(rows.columns, fetch_columns(engine, rows), strict=True))
    order = np.lexsort([columns[name] for name in reversed(by)])
    return {name: column[order].astype(np.float64) for name, column in columns.items()}


def float_literal(number: float) -> ir.Value:
    """Return a number as a float64 constant; a bare 1.0 reaches DuckDB as a decimal."""
    return ibis.literal(repr(float(number))).cast("float64")


def example_rows(engine: Engine, rows: ir.Table, given: Mapping[str, str]) -> str:
    """Return the first few rows as text for an error message, under the user's column names; "" if there are none."""
    examples = [
        ", ".join(f"{given.get(name, name)} = {excerpt(value)}" for name, value in row.items() if name != TIME)
        for row in engine.fetch(rows.limit(3))
    ]
    return f"for example {'; '.join(examples)}" if examples else ""
