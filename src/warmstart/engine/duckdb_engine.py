"""DuckDB, embedded: the default engine."""

from __future__ import annotations

import re
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import ibis
import ibis.expr.types as ir

from warmstart.core.errors import EngineError, SourceError, UsageError
from warmstart.core.text import counted, first_lines, printable, quoted, shortened
from warmstart.engine.engine import BATCH, FileKind, Opened, Row, StoredTable
from warmstart.engine.files import is_partitioned, parquet_schema
from warmstart.engine.text_files import text_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends.duckdb import Backend

Result = TypeVar("Result")


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="epoch_us", signature=((ibis.dtype("timestamp"),), ibis.dtype("int64"))
)
def _epoch_us(moment: Any) -> Any:
    """Name DuckDB's own function for Ibis."""


# What DuckDB says of a CSV line that it finds after the columns were told from the first ones.
RAGGED = re.compile(r"CSV Error on Line: (\d+)\nOriginal Line: ?(.*?)\n.*?^ *file = (.*?)$", re.DOTALL | re.MULTILINE)


# What DuckDB's allocator holds and does not count grows with the limit: this share of what is above a gigabyte.
UNCOUNTED, GIGABYTE = 0.06, 1e9
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b\s*", re.IGNORECASE)


def _what_duckdb_counts(limit: str) -> str:
    """Return the limit to set so that about as much as was asked for is used; what is no size is left to DuckDB.

    >>> _what_duckdb_counts("500MB"), _what_duckdb_counts("4GB"), _what_duckdb_counts("50%")
    ('500000KB', '3820000KB', '50%')
    """
    found = SIZE.fullmatch(limit)
    if found is None:
        return limit
    number, unit, binary = found.groups()
    size = float(number) * (1024 if binary else 1000) ** ("kmgt".index(unit.lower()) + 1)
    return f"{(size - UNCOUNTED * max(size - GIGABYTE, 0.0)) / 1000:.0f}KB"


class DuckDBEngine:
    """An Ibis DuckDB connection."""

    name = "duckdb"
    remote = False

    def __init__(self, backend: Backend, *, in_process: bool = True) -> None:
        self.backend = backend
        self.in_process = in_process

    @classmethod
    def embedded(cls, *, memory_limit: str | None = None, threads: int | None = None) -> DuckDBEngine:
        """Start DuckDB inside this process; what does not fit in memory goes to the system's temporary folder."""
        spill = Path(tempfile.gettempdir()) / f"warmstart-{uuid.uuid4().hex}"
        settings: dict[str, Any] = {
            "temp_directory": str(spill),
            "preserve_insertion_order": False,
        }
        if memory_limit is not None:
            settings["memory_limit"] = _what_duckdb_counts(memory_limit)
            # Give back sooner what is not in use: it does not count against the limit, but it is not free either.
            settings["allocator_background_threads"] = True
            settings["allocator_flush_threshold"] = "16MB"
            settings["allocator_bulk_deallocation_flush_threshold"] = "64MB"
        if threads is not None:
            settings["threads"] = threads
        try:
            backend = ibis.duckdb.connect(**settings)
        except duckdb.Error as error:
            raise UsageError(f"DuckDB cannot be started so: {first_lines(error)}") from error
        backend.settings["TimeZone"] = "UTC"
        # In a notebook without ipywidgets DuckDB refuses to measure progress; everything else works.
        with suppress(duckdb.InvalidInputException):
            backend.settings["enable_progress_bar"] = True
            backend.settings["enable_progress_bar_print"] = False
        return cls(backend, in_process=memory_limit is None)

    def holds(self, table: ir.Table) -> bool:
        """Tell whether an Ibis table can be used in this connection."""
        backends, _ = table._find_backends()
        return all(backend is self.backend for backend in backends)

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> Opened:
        """Open files of one kind as one table, without copying them; the columns of a CSV file as text, if asked."""
        try:
            if kind == "parquet":
                table = self.backend.read_parquet(list(paths), hive_partitioning=any(map(is_partitioned, paths)))
                inside = parquet_schema(paths[0]).names
                return Opened(table, (*inside, *table.columns[len(inside) :]))
            columns = text_columns(self.backend.con, paths, kind)
            if kind == "json":
                table = self.backend.read_json(list(paths))
            else:
                types = {} if as_text or len(paths) == 1 else {"dtypes": list(columns.values())}
                table = self.backend.read_csv(list(paths), all_varchar=as_text, **types)
        except duckdb.Error as error:
            raise SourceError(f"Cannot read {printable(paths[0])}: {first_lines(error, 3)}") from error
        return Opened(table, (*columns, *table.columns[len(columns) :]))

    def open_table(self, stored: StoredTable) -> Opened:
        """Open a table of a DuckDB file, to read only, or of this connection."""
        if stored.url is not None:
            raise SourceError(
                "A table behind a URL is not in this engine, which holds the other log.",
                "Both logs must be in one database, or both outside.",
            )
        try:
            catalog = self.backend.current_catalog if stored.path is None else self._attached(stored.path)
            # Without a parameter: to look at parameters, DuckDB imports pandas.
            tables = self.backend.con.execute(
                "SELECT table_catalog, table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            found = [(schema, name) for where, schema, name in tables if where == catalog]
            schema, name = _the_table(stored, found)
            table = self.backend.table(name, database=(catalog, schema))
        except duckdb.Error as error:
            raise SourceError(f"Cannot read {printable(stored.path or stored.name)}: {first_lines(error)}") from error
        return Opened(table, tuple(table.columns))

    def _attached(self, path: str) -> str:
        where = str(Path(path).resolve())
        attached = self.backend.con.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
        for catalog, file in attached:
            if file == where:
                return str(catalog)
        catalog = f"file_{uuid.uuid4().hex}"
        escaped = where.replace("'", "''")
        self.backend.con.execute(f"ATTACH '{escaped}' AS {catalog} (READ_ONLY)")
        return catalog

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Show an Arrow table to the engine, for as long as an expression refers to it."""
        name = f"frame_{uuid.uuid4().hex}"
        self.backend.con.register(name, frame)
        table = self.backend.table(name)
        weakref.finalize(table.op(), self.backend.con.unregister, name)
        return table

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Turn a timestamp expression into microseconds since 1970, UTC."""
        kind = moment.type()
        utc = moment if kind.is_timestamp() and kind.timezone is not None else moment.cast("timestamp(6)")
        return _epoch_us(utc)

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        rows = self._with_fewer_threads(lambda: self._run(expression).fetchall())
        return [dict(zip(expression.columns, row, strict=True)) for row in rows]

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        return self._with_fewer_threads(lambda: self._run(expression).to_arrow_table())

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Run an expression and give its result in order, in batches of about so many rows; nothing else may run."""
        with _engine_errors():
            yield from self._run(expression).to_arrow_reader(rows)

    def _run(self, expression: ir.Table) -> duckdb.DuckDBPyConnection:
        self.backend._run_pre_execute_hooks(expression)
        connection: duckdb.DuckDBPyConnection = self.backend.con
        return connection.execute(str(self.backend.compile(expression)))

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Run an expression once and keep its result in the engine until it is released."""
        return self._with_fewer_threads(lambda: self.backend._cached_table(expression))

    def _with_fewer_threads(self, query: Callable[[], Result]) -> Result:
        """Run a query, again with one thread where several ran out of memory: each needs some of its own."""
        with _engine_errors():
            try:
                return query()
            except duckdb.OutOfMemoryException:
                if (threads := self._threads()) == 1:
                    raise
                self.backend.con.execute("SET threads=1")
                try:
                    return query()
                finally:
                    self.backend.con.execute(f"SET threads={threads}")

    def _threads(self) -> int:
        found = self.backend.con.execute("SELECT current_setting('threads')").fetchone()
        return int(found[0]) if found else 1

    def collect(self, expression: ir.Table) -> tuple[DuckDBEngine, ir.CachedTable]:
        """Run an expression once and keep its rows here."""
        return self, self.materialise(expression)

    def keep(self, batches: pa.RecordBatchReader) -> ir.CachedTable:
        """Keep rows that come in batches, of which no more than one is in memory at a time."""
        held = self.materialise(self.open_arrow(batches.schema.empty_table()))
        name = f"batch_{uuid.uuid4().hex}"
        try:
            for batch in batches:
                with _engine_errors():
                    self.backend.con.register(name, batch)
                    self.backend.con.execute(f"INSERT INTO {held.get_name()} FROM {name}")
        finally:
            self.backend.con.unregister(name)
        return held

    def progress(self) -> float | None:
        """Return how far the running query is, in percent."""
        percent = float(self.backend.con.query_progress())
        return percent if percent >= 0 else None


def _the_table(stored: StoredTable, found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    names = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
    where = printable(stored.path or "the connection")
    if stored.name is None and len(names) == 1:
        return next(iter(names.values()))
    if stored.name is None:
        raise UsageError(
            f"{where} has {counted(len(names), 'table')}: {', '.join(map(quoted, names)) or 'none'}.",
            "Say which with table=... (--table NAME).",
        )
    if stored.name not in names:
        raise SourceError(
            f"{where} has no table {quoted(stored.name)}.", f"It has {', '.join(map(quoted, names)) or 'none at all'}."
        )
    return names[stored.name]


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise EngineError(
            f"DuckDB ran out of memory: {first_lines(error)}",
            "Raise the memory limit, or free space for what does not fit in memory.",
        ) from error
    except duckdb.IOException as error:
        raise EngineError(
            f"DuckDB could not read or write a file: {first_lines(error)}",
            f"What does not fit in memory goes to {tempfile.gettempdir()}: is there room? TMPDIR names another place.",
        ) from error
    except duckdb.Error as error:
        if ragged := RAGGED.search(str(error)):
            line, written, file = ragged.groups()
            raise SourceError(
                f"{printable(file)}, line {line}, is not like the others: {shortened(printable(written))}",
                "Mend or remove the line.",
            ) from error
        raise EngineError(f"DuckDB could not run the query: {first_lines(error, 3)}") from error
