"""The engine interface: open tables, run Ibis expressions, keep results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from numpy.typing import NDArray

FileKind = Literal["parquet", "csv", "json"]
Row = dict[str, Any]
BATCH = 100_000


@dataclass(frozen=True)
class SourceTable:
    """An opened source: a table of the engine, and by position the names its columns have in the source."""

    table: ir.Table
    names: tuple[str, ...]


@dataclass(frozen=True)
class StoredTable:
    """The address of a table in a database: in a DuckDB file, behind a URL, or by name in the engine itself."""

    name: str | None
    path: str | None = None
    url: str | None = None


class Engine(Protocol):
    """One connection, the only place where Ibis expressions run; ``name`` as on the command line.

    ``remote``: whether tables stay in an external database, which is only read, and only sums leave it.
    """

    backend: Any
    name: str
    remote: bool

    def holds(self, table: ir.Table) -> bool:
        """Return whether an Ibis table can be used in this connection."""
        backends, _ = table._find_backends()
        return all(backend is self.backend for backend in backends)

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> SourceTable:
        """Return files of one kind as one table, without copying them; ``as_text`` keeps CSV columns as strings."""

    def open_table(self, stored: StoredTable) -> SourceTable:
        """Return a table of a database."""

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Return an Arrow table as a table of the engine."""

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Return a timestamp expression as microseconds since 1970, UTC."""

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield the result in order, in batches of about ``rows`` rows; no other query may run meanwhile."""

    def collect(self, expression: ir.Table) -> tuple[LocalEngine, ir.CachedTable]:
        """Run an expression once; return the local engine that keeps its rows, and the rows until released."""

    def progress(self) -> float | None:
        """Return the progress of the running query in percent, None where the engine cannot tell."""


class LocalEngine(Engine, Protocol):
    """An engine that may keep results: embedded DuckDB or Spark, unlike an external database.

    ``room``: how many bytes of columns of cells a kernel may hold in this process: few with a memory limit, none on a
    cluster.
    """

    room: float
    remote: bool = False

    def collect(self, expression: ir.Table) -> tuple[Self, ir.CachedTable]:
        """Run an expression once; return this engine, which keeps its rows, and the rows."""
        return self, self.materialise(expression)

    def open_columns(self, columns: Mapping[str, NDArray[Any]]) -> ir.Table:
        """Return NumPy arrays of numbers as a table of the engine, if it is in this process."""

    def key_hash(self, keys: Sequence[ir.Value]) -> ir.Value:
        """Return 64 bits for columns, the same for equal ones, if the engine is in this process."""

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Run an expression once and keep its result in the engine until it is released."""
