"""External databases (Postgres, SQLite, ...): read only; they compute the sums, and DuckDB works on from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import ibis.expr.types as ir
from ibis.common.exceptions import TableNotFound

from warmstart.core import EngineError, SourceError, WarmstartError, first_lines, printable, quoted
from warmstart.engine import postgres
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import BATCH, Engine, FileKind, Row, SourceTable, StoredTable

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends import BaseBackend

# SQLSTATE codes: a role may not read a table; the connection is gone.
NOT_PERMITTED = "42501"
CONNECTION_LOST = ("08", "57P")


class DatabaseEngine(Engine):
    """An Ibis connection to a database (at ``url``, if known), and the ``local`` DuckDB that keeps its results."""

    remote = True

    def __init__(self, backend: BaseBackend, local: DuckDBEngine, *, url: str | None = None) -> None:
        self.backend = backend
        self.local = local
        self.url = url
        self.name = backend.name

    def holds(self, table: ir.Table) -> bool:
        """Return whether an Ibis table can be used in this connection."""
        return bool(table._find_backends()[0]) and super().holds(table)

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> SourceTable:  # noqa: ARG002
        """Refuse: a database cannot see this machine's files, and nothing is written to it."""
        raise self._not_in_database(printable(paths[0]))

    def open_arrow(self, frame: pa.Table) -> ir.Table:  # noqa: ARG002
        """Refuse: nothing is written to a database."""
        raise self._not_in_database("the table")

    def _not_in_database(self, what: str) -> SourceError:
        return SourceError(
            f"{what} is not in the database that holds the other log.",
            "Both logs must be in one database, or both outside.",
        )

    def open_table(self, stored: StoredTable) -> SourceTable:
        """Return a table by its name, ``NAME`` or ``SCHEMA.NAME``; both may contain dots."""
        if stored.path is not None or stored.url != self.url or stored.name is None:
            raise self._not_in_database(printable(stored.path or stored.name))
        parts = stored.name.split(".")
        for dot in range(len(parts)):
            schema, name = ".".join(parts[:dot]), ".".join(parts[dot:])
            try:
                with self._errors():
                    table = self.backend.table(name, database=(schema,) if dot else None)
            except TableNotFound:
                continue
            return SourceTable(table, tuple(table.columns))
        raise SourceError(
            f"The database has no table {quoted(stored.name)}.",
            "Write it as the database does, large and small letters too, with its schema: SCHEMA.NAME.",
        )

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Return a timestamp expression as microseconds since 1970, UTC; to the second unless on Postgres."""
        if self.name == "postgres":
            return postgres.epoch_microseconds(moment)
        return moment.cast("timestamp").epoch_seconds().cast("int64") * 1_000_000

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        rows: list[Row] = self.fetch_arrow(expression).to_pylist()
        return rows

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        with self._batches(expression) as batches:
            return batches.read_all()

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield the result in order, in the driver's own batches; no other query may run meanwhile."""
        with self._batches(expression) as batches:
            yield from batches

    def collect(self, expression: ir.Table) -> tuple[DuckDBEngine, ir.CachedTable]:
        """Run an expression in the database; return the local DuckDB engine, which keeps its rows, and the rows."""
        with self._batches(expression) as batches:
            return self.local, self.local.store(batches)

    def progress(self) -> float | None:
        """Return None: databases do not report the progress of a query."""
        return None

    @contextmanager
    def _batches(self, expression: ir.Table) -> Iterator[pa.RecordBatchReader]:
        with self._errors():
            if self.name == "postgres":
                with postgres.batches(self.backend, expression) as batches:
                    yield batches
            else:
                yield self.backend.to_pyarrow_batches(expression)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (WarmstartError, TableNotFound, KeyboardInterrupt):
            raise
        except Exception as error:  # every database driver has errors of its own
            state = getattr(error, "sqlstate", None) or ""
            if state == NOT_PERMITTED:
                raise SourceError(
                    f"{self.name} refuses: {first_lines(error)}", "The role needs SELECT on the table, and no more."
                ) from error
            closed = getattr(getattr(self.backend, "con", None), "closed", False) is True
            if closed or state.startswith(CONNECTION_LOST):
                raise EngineError(
                    f"The connection to {self.name} was lost: {first_lines(error)}", "Read the log again."
                ) from error
            raise EngineError(
                f"{self.name} could not run the query: {first_lines(error)}",
                "Export the log to Parquet if the database cannot do it.",
            ) from error
