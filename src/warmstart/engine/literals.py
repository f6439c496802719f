"""Constants that keep their type on every engine."""

from __future__ import annotations

import ibis
import ibis.expr.types as ir


def float_literal(number: int) -> ir.Value:
    """Return a whole number as float64; a bare 1.0 reaches DuckDB as a decimal."""
    return ibis.literal(number).cast("float64")
