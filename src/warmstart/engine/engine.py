"""What the rest of the house asks of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

FileKind = Literal["parquet", "csv", "json"]
Row = dict[str, Any]
BATCH = 100_000


@dataclass(frozen=True)
class Opened:
    """A table as the engine sees it, and the names its columns have in the source, by position."""

    table: ir.Table
    names: tuple[str, ...]


@dataclass(frozen=True)
class StoredTable:
    """A table of a database: in a DuckDB file, behind a URL, or by name where the engine already is."""

    name: str | None
    path: str | None = None
    url: str | None = None


class Engine(Protocol):
    """One connection. Expressions are values; only here do they run."""

    @property
    def name(self) -> str:
        """Return the engine's name, as on the command line."""
        ...

    @property
    def remote(self) -> bool:
        """Tell whether its tables are in a database of others, where sums are asked for and events stay."""
        ...

    def holds(self, table: ir.Table) -> bool:
        """Tell whether an Ibis table can be used in this connection."""
        ...

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> Opened:
        """Open files of one kind as one table, without copying them; the columns of a CSV file as text, if asked."""
        ...

    def open_table(self, stored: StoredTable) -> Opened:
        """Open a table of a database."""
        ...

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Show an Arrow table to the engine."""
        ...

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Turn a timestamp expression into microseconds since 1970, UTC."""
        ...

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        ...

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        ...

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Run an expression and give its result in order, in batches of about so many rows; nothing else may run."""
        ...

    def collect(self, expression: ir.Table) -> tuple[LocalEngine, ir.CachedTable]:
        """Run an expression once and keep its rows where the work goes on, until they are released."""
        ...

    def progress(self) -> float | None:
        """Return how far the running query is, in percent, where the engine can tell."""
        ...


class LocalEngine(Engine, Protocol):
    """An engine of our own, in which results may be kept."""

    @property
    def in_process(self) -> bool:
        """Tell whether whole columns of cells may be handed to a kernel here: not if memory was limited, or is far."""
        ...

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Run an expression once and keep its result in the engine until it is released."""
        ...
