"""Any other backend of Ibis: the log stays in the database where it lives, and so does the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir

from warmstart.core.errors import EngineError, SourceError, WarmstartError
from warmstart.core.text import first_lines, printable
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import FileKind, Opened, Row, StoredTable

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends import BaseBackend


class IbisEngine:
    """An Ibis connection to a database of which nothing but Ibis is known."""

    in_process = False

    def __init__(self, backend: BaseBackend) -> None:
        self.backend = backend
        self.name: str = backend.name

    def holds(self, table: ir.Table) -> bool:
        """Tell whether an Ibis table can be used in this connection."""
        backends, _ = table._find_backends()
        return all(backend is self.backend for backend in backends)

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> Opened:
        """Bring small files beside the log: the database cannot see this machine's files, so DuckDB reads them."""
        reader = DuckDBEngine.embedded()
        opened = reader.open_files(paths, kind, as_text=as_text)
        return Opened(self.open_arrow(reader.fetch_arrow(opened.table)), opened.names)

    def open_table(self, stored: StoredTable) -> Opened:
        """Open a table of the database."""
        if stored.path is not None or stored.name is None:
            raise SourceError(f"{self.name} cannot read {printable(stored.path)}.", "Export it to Parquet.")
        with self._errors():
            table = self.backend.table(stored.name)
        return Opened(table, tuple(table.columns))

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Show an Arrow table to the database."""
        return ibis.memtable(frame)

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Turn a timestamp expression into microseconds since 1970, UTC, to the second: fractions vary by backend."""
        return moment.cast("timestamp").epoch_seconds().cast("int64") * 1_000_000

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        rows: list[Row] = self.fetch_arrow(expression).to_pylist()
        return rows

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        with self._errors():
            return self.backend.to_pyarrow(expression)

    def stream(self, expression: ir.Table, rows: int) -> Iterator[pa.RecordBatch]:
        """Run an expression and give its result in order, in batches of about so many rows; nothing else may run."""
        with self._errors():
            yield from self.backend.to_pyarrow_batches(expression, chunk_size=rows)

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Keep the result of an expression in a temporary table until it is released."""
        with self._errors():
            return self.backend._cached_table(expression)

    def progress(self) -> float | None:
        """Return nothing: databases do not say how far a query is."""
        return None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (WarmstartError, KeyboardInterrupt):
            raise
        except Exception as error:  # every database driver has errors of its own
            raise EngineError(
                f"{self.name} could not run the query: {first_lines(error)}",
                "Export the log to Parquet if the database cannot do it.",
            ) from error
