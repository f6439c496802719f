"""Rows that are at fault, for a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.core.names import TIME
from warmstart.core.text import quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine.engine import Engine

SHOWN = 3


def offenders(engine: Engine, rows: ir.Table, given: Mapping[str, str]) -> str:
    """Show the first few rows under the user's names; nothing if there are none."""
    shown = [
        ", ".join(f"{given.get(name, name)} = {quoted(value)}" for name, value in row.items() if name != TIME)
        for row in engine.fetch(rows.limit(SHOWN))
    ]
    return f"for example {'; '.join(shown)}" if shown else ""
