"""Functions that run where the rows are, on an engine that spreads over processes or machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from warmstart.engine.engine import Engine, Workshop

if TYPE_CHECKING:
    import ibis.expr.schema as sch
    import ibis.expr.types as ir
    import pyarrow as pa

# Some rows, and what every call is told, to other rows.
OnRows = Callable[["pa.Table", Any], "pa.Table"]
# A part's rows of each table, and what every part is told, to other rows. A column of the rows is the part's number.
OnPart = Callable[[Sequence["pa.Table"], Any], "pa.Table"]
PART = "part_of_all"
HASHES = 1_000_000


@dataclass(frozen=True)
class Parts:
    """So many parts; rows with the same keys are in the same one."""

    keys: tuple[str, ...]
    number: int


class PartedEngine(Workshop, Protocol):
    """An engine whose rows lie in parts. Functions are sent to them by name: the workers have warmstart too."""

    def in_batches(self, rows: ir.Table, function: OnRows, schema: sch.Schema, *, told: Any) -> ir.Table:
        """Turn rows into others, some at a time and in any order."""
        ...

    def in_parts(
        self, tables: Sequence[ir.Table], parts: Parts, function: OnPart, schema: sch.Schema, *, told: Any
    ) -> ir.Table:
        """Turn parts of one or two tables into other rows."""
        ...


def runs_in_parts(engine: Engine) -> TypeGuard[PartedEngine]:
    """Tell whether an engine spreads its work over processes or machines."""
    return hasattr(engine, "in_parts")


def fetch_in_batches(engine: PartedEngine, rows: ir.Table) -> pa.Table:
    """Bring rows here whose number does not grow with the log, or that are part of a model."""
    import pyarrow as pa

    batches = list(engine.stream(rows))
    return pa.Table.from_batches(batches) if batches else engine.fetch_arrow(rows.limit(0))


def some_of(rows: ir.Table, keys: Sequence[str], share: float) -> ir.Table:
    """Keep a share of the rows, all or none of those with the same keys, and the same keys of every table."""
    import ibis

    if share >= 1:
        return rows
    place = ibis.literal(0, "int64")
    for key in keys:
        place = (place * 31 + rows[key].hash().cast("int64") % HASHES) % HASHES
    return rows.filter(place.abs() < int(share * HASHES))
