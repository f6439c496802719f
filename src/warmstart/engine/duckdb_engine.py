"""The embedded DuckDB engine, the default."""

from __future__ import annotations

import math
import re
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from warmstart.core import (
    EngineError,
    SourceError,
    UsageError,
    counted,
    excerpt,
    first_lines,
    printable,
    quoted,
    temporary_path,
)
from warmstart.engine.engine import BATCH, FileKind, LocalEngine, Row, SourceTable, StoredTable
from warmstart.engine.files import parquet_schema, partition_root
from warmstart.engine.memory_limit import size_of
from warmstart.engine.text_files import TextForm, literal, nested_too_deeply, text_form, unreadable

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends.duckdb import Backend
    from numpy.typing import NDArray

Result = TypeVar("Result")


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="epoch_us", signature=((ibis.dtype("timestamp"),), ibis.dtype("int64"))
)
def _epoch_us(moment: Any) -> Any:
    """Declare DuckDB's built-in function to Ibis."""


# Ibis' own hash() goes by way of a string of bits, which takes three times as long.
@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash(value) -> dt.uint64:  # type: ignore[no-untyped-def] # noqa: ANN001
    """Declare DuckDB's built-in function to Ibis."""


# DuckDB's error for a CSV line that does not fit the columns detected from the first lines.
RAGGED = re.compile(r"CSV Error on Line: (\d+)\nOriginal Line: ?(.*?)\n.*?^ *file = (.*?)$", re.DOTALL | re.MULTILINE)
# DuckDB's allocator holds memory that it does not count: about this share of the limit above one gigabyte.
UNCOUNTED, GIGABYTE = 0.06, 1e9
# Beside a memory limit, which is DuckDB's own, kernels may hold columns of this share of it.
ROOM = 0.25
# What Ibis registers before a query, or loads an extension for.
REGISTERED = (ops.InMemoryTable, ops.ScalarUDF, ops.GeoSpatialUnOp, ops.GeoSpatialBinOp)


def _counted_limit(limit: str) -> str:
    """Return the memory limit to set so that DuckDB uses about ``limit`` in all; a share is passed on.

    >>> _counted_limit("500MB"), _counted_limit("4GB"), _counted_limit("50%")
    ('500000KB', '3820000KB', '50%')
    """
    size = size_of(limit)
    return limit if size is None else f"{(size - UNCOUNTED * max(size - GIGABYTE, 0.0)) / 1000:.0f}KB"


class DuckDBEngine(LocalEngine):
    """An Ibis connection to DuckDB; ``room``: how many bytes of columns a kernel may hold beside it."""

    name = "duckdb"

    def __init__(self, backend: Backend, *, room: float = math.inf) -> None:
        self.backend = backend
        self.room = room
        self._abandoned: list[str] = []

    @classmethod
    def embedded(cls, *, memory_limit: str | None = None, threads: int | None = None) -> DuckDBEngine:
        """Start DuckDB inside this process; it spills to the system's temporary folder."""
        spill = temporary_path(Path(tempfile.gettempdir(), "duckdb"))
        settings: dict[str, Any] = {"temp_directory": str(spill), "preserve_insertion_order": False}
        if memory_limit is not None:
            settings["memory_limit"] = _counted_limit(memory_limit)
            # Return unused memory sooner: it does not count against the limit, but is not free either.
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
        # In a notebook without ipywidgets DuckDB refuses only these two settings.
        with suppress(duckdb.InvalidInputException):
            backend.settings["enable_progress_bar"] = True
            backend.settings["enable_progress_bar_print"] = False
        return cls(backend, room=math.inf if memory_limit is None else ROOM * (size_of(memory_limit) or 0.0))

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> SourceTable:
        """Return files of one kind as one table, without copying them; ``as_text`` keeps CSV columns as strings.

        Ibis makes a view for them, which goes once no expression refers to it: when the next files are opened, since
        another query may be running at the moment.
        """
        while self._abandoned:
            self.backend.con.execute(f'DROP VIEW IF EXISTS "{self._abandoned.pop()}"')
        table, form = self._opened(paths, kind, as_text=as_text)
        weakref.finalize(table.op(), self._abandoned.append, table.get_name())
        inside = list(form.types)
        return SourceTable(table if as_text else form.finished(table), (*inside, *table.columns[len(inside) :]))

    def _opened(self, paths: Sequence[str], kind: FileKind, *, as_text: bool) -> tuple[ir.Table, TextForm]:
        try:
            if kind == "parquet":
                table = self.backend.read_parquet(list(paths), hive_partitioning=any(map(partition_root, paths)))
                return table, TextForm(dict.fromkeys(parquet_schema(paths[0]).names, ""))
            form = text_form(self.backend.con, paths, kind)
            if kind == "json":
                return self.backend.read_json(list(paths)), form
            own = not as_text and (len(paths) > 1 or form.types != form.read_types)
            options: dict[str, Any] = {"dtypes": list(form.read_types.values())} if own else {}
            options |= {"decimal_separator": ","} if form.decimal_comma else {}
            return self.backend.read_csv(list(paths), all_varchar=as_text, **options), form
        except duckdb.OutOfMemoryException as error:
            raise _out_of_memory(error) from error
        except RecursionError as error:
            raise nested_too_deeply(paths[0]) from error
        except UnicodeEncodeError as error:
            raise SourceError(f"{quoted(paths[0])} is not UTF-8.", "Rename the file.") from error
        except duckdb.Error as error:
            raise unreadable(paths[0], error) from error

    def open_table(self, stored: StoredTable) -> SourceTable:
        """Return a table of a DuckDB file, opened read-only, or of this connection."""
        if stored.url is not None:
            raise SourceError(
                "A table behind a URL is not in this engine, which holds the other log.",
                "Both logs must be in one database, or both outside.",
            )
        try:
            catalog = self.backend.current_catalog if stored.path is None else self._catalog_of(stored.path)
            # No query parameter: DuckDB imports pandas to look at parameters.
            tables = self.backend.con.execute(
                "SELECT table_catalog, table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            schema, name = _table_named(stored, [(schema, name) for where, schema, name in tables if where == catalog])
            table = self.backend.table(name, database=(catalog, schema))
        except duckdb.Error as error:
            raise SourceError(f"Cannot read {printable(stored.path or stored.name)}: {first_lines(error)}") from error
        return SourceTable(table, tuple(table.columns))

    def _catalog_of(self, path: str) -> str:
        """Return the catalogue of a DuckDB file, attached read-only if it is not yet."""
        where = str(Path(path).resolve())
        catalogs = dict(self.backend.con.execute("SELECT path, database_name FROM duckdb_databases()").fetchall())
        if where not in catalogs:
            catalogs[where] = f"file_{uuid.uuid4().hex}"
            self.backend.con.execute(f"ATTACH {literal(where)} AS {catalogs[where]} (READ_ONLY)")
        return str(catalogs[where])

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Return an Arrow table as a table of the engine, registered for as long as an expression refers to it."""
        return self._registered(frame)

    def open_columns(self, columns: Mapping[str, NDArray[Any]]) -> ir.Table:
        """Return NumPy arrays of numbers as a table of the engine; DuckDB loads pandas for Arrow, and not for these."""
        return self._registered(dict(columns))

    def _registered(self, rows: Any) -> ir.Table:
        name = f"frame_{uuid.uuid4().hex}"
        self.backend.con.register(name, rows)
        table = self.backend.table(name)
        weakref.finalize(table.op(), self.backend.con.unregister, name)
        return table

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Return a timestamp expression as microseconds since 1970, UTC."""
        zoned = moment.type().is_timestamp() and moment.type().timezone is not None
        return _epoch_us(moment if zoned else moment.cast("timestamp(6)"))

    def key_hash(self, keys: Sequence[ir.Value]) -> ir.Value:
        """Return 64 bits for columns, the same for equal ones; they seldom are for others."""
        first, *others = map(_hash, keys)
        return reduce(lambda known, key: _hash(known) ^ key, others, first)

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        rows = self._retrying(lambda: self._run(expression).fetchall())
        return [dict(zip(expression.columns, row, strict=True)) for row in rows]

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        return self._retrying(lambda: self._run(expression).to_arrow_table())

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield the result in order, in batches of about ``rows`` rows; no other query may run meanwhile."""
        with _engine_errors():
            yield from self._run(expression).to_arrow_reader(rows)

    def _run(self, expression: ir.Table) -> duckdb.DuckDBPyConnection:
        # Ibis looks four times for what to register: a twentieth of the CPU of evaluating a small log.
        if self.backend._record_batch_readers_consumed or expression.op().find(REGISTERED):
            self.backend._run_pre_execute_hooks(expression)
        connection: duckdb.DuckDBPyConnection = self.backend.con
        with _nested_selects():
            query = str(self.backend.compile(expression))
        return connection.execute(query)

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Run an expression once and keep its result in the engine until it is released."""

        def made() -> ir.CachedTable:
            try:
                with _nested_selects():
                    return self.backend._cached_table(expression)
            except BaseException:
                self._drop_unfilled()
                raise

        return self._retrying(made)

    def _drop_unfilled(self) -> None:
        """Drop the table that Ibis made for rows that never came."""
        connection = self.backend.con
        with suppress(duckdb.Error):
            tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
            for (name,) in tables:
                if name.startswith("ibis_cached_") and name not in self.backend._cache_name_to_entry:
                    connection.execute(f'DROP TABLE IF EXISTS temp.main."{name}"')

    def _retrying(self, query: Callable[[], Result]) -> Result:
        """Run a query; if it runs out of memory, run it again with one thread, since each thread needs memory.

        So does a query whose joins DuckDB 1.5 turns into filters that scans of Arrow tables do not know: without them.
        """
        with _engine_errors():
            try:
                return query()
            except (duckdb.OutOfMemoryException, duckdb.NotImplementedException) as error:
                memory = isinstance(error, duckdb.OutOfMemoryException)
                name, value = ("threads", "1") if memory else ("disabled_optimizers", "join_filter_pushdown")
                row = self.backend.con.execute(f"SELECT current_setting({literal(name)})").fetchone()
                before = str(row[0]) if row else value
                if before == value:
                    raise
                self.backend.con.execute(f"SET {name}={literal(value)}")
                try:
                    return query()
                finally:
                    self.backend.con.execute(f"SET {name}={literal(before)}")

    def store(self, batches: pa.RecordBatchReader) -> ir.CachedTable:
        """Store batches as a table of the engine, one batch in memory at a time."""
        table = self.materialise(self.open_arrow(batches.schema.empty_table()))
        name = f"batch_{uuid.uuid4().hex}"
        try:
            for batch in batches:
                with _engine_errors():
                    self.backend.con.register(name, batch)
                    self.backend.con.execute(f"INSERT INTO {table.get_name()} FROM {name}")
        finally:
            self.backend.con.unregister(name)
        return table

    def progress(self) -> float | None:
        """Return the progress of the running query in percent, None where DuckDB cannot tell."""
        percent = float(self.backend.con.query_progress())
        return percent if percent >= 0 else None


def _table_named(stored: StoredTable, tables: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the schema and name of a stored table, among those of its catalogue."""
    names = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in tables}
    where, listed = printable(stored.path or "the connection"), ", ".join(map(quoted, names))
    if stored.name is None and len(names) == 1:
        return next(iter(names.values()))
    if stored.name is None:
        tables_of = f"{where} has {counted(len(names), 'table')}"
        raise UsageError(f"{tables_of}: {listed or 'none'}.", "Say which with table=... (--table NAME).")
    if stored.name not in names:
        raise SourceError(f"{where} has no table {quoted(stored.name)}.", f"It has {listed or 'none at all'}.")
    return names[stored.name]


@contextmanager
def _nested_selects() -> Iterator[None]:
    """Let Ibis leave selects nested: DuckDB unnests them itself, and evaluating a small log takes a sixth less CPU."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


def _out_of_memory(error: Exception) -> EngineError:
    return EngineError(
        f"DuckDB ran out of memory: {first_lines(error)}",
        "Raise the memory limit, or free space for what does not fit in memory.",
    )


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise _out_of_memory(error) from error
    except duckdb.IOException as error:
        raise EngineError(
            f"DuckDB could not read or write a file: {first_lines(error)}",
            f"What does not fit in memory goes to {tempfile.gettempdir()}: is there room? TMPDIR names another place.",
        ) from error
    except duckdb.Error as error:
        if ragged := RAGGED.search(str(error)):
            line, written, file = ragged.groups()
            raise SourceError(
                f"{printable(file)}, line {line}, is not like the others: {excerpt(written)}",
                "Mend or remove the line.",
            ) from error
        raise EngineError(f"DuckDB could not run the query: {first_lines(error, 3)}") from error
    except UnicodeEncodeError as error:
        name = quoted(error.object[error.start :])
        raise UsageError(f"{name} is not UTF-8.", "DuckDB compares text in UTF-8.") from error
