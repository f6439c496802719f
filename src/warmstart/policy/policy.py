"""A policy: a table of what it would choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Policy:
    """A table of context_0, ..., action, probability; a context without rows is undecided.

    ``is_logging`` marks the logging policy itself, whose value is the plain mean reward: it needs no weights, so
    nothing of it is clipped.
    """

    name: str
    table: ir.Table
    is_logging: bool = False
    live: bool = False
