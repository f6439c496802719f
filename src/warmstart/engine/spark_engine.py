"""Spark, for logs that outgrow one machine."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import duckdb
import ibis
import ibis.expr.types as ir
from ibis.backends.pyspark.datatypes import PySparkSchema
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from warmstart.core.errors import EngineError, SourceError
from warmstart.core.text import first_lines, printable
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import FileKind, Opened, Row, StoredTable
from warmstart.engine.files import partition_root
from warmstart.engine.text_files import text_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends.pyspark import Backend


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="unix_micros", signature=((ibis.dtype("timestamp"),), ibis.dtype("int64"))
)
def _unix_micros(moment: Any) -> Any:
    """Name Spark's own function for Ibis."""


_SPARK_TYPES = {
    "extension<arrow.uuid>": "VARCHAR",
    **{f"uint{bits}": "BIGINT" for bits in (8, 16, 32, 64)},
}


class SparkEngine:
    """An Ibis Spark connection."""

    name = "spark"
    in_process = False

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def local(cls, *, memory_limit: str | None = None, threads: int | None = None) -> SparkEngine:
        """Start Spark on this machine, or join the session that is already running."""
        cores = threads or os.cpu_count() or 1
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.caseSensitive": "true",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(2 * cores),
        }
        if memory_limit is not None:
            settings["spark.driver.memory"] = memory_limit.lower().removesuffix("b")
        builder = SparkSession.builder.appName("warmstart").master(f"local[{cores}]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return cls(ibis.pyspark.connect(session))

    @property
    def session(self) -> SparkSession:
        """Return the Spark session."""
        session: SparkSession = self.backend._session
        return session

    def holds(self, table: ir.Table) -> bool:
        """Tell whether an Ibis table can be used in this connection."""
        backends, _ = table._find_backends()
        return all(backend is self.backend for backend in backends)

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> Opened:
        """Open files of one kind as one table, without copying them; the columns of a CSV file as text, if asked."""
        try:
            if kind == "csv":
                return self._read_csv(paths, as_text=as_text)
            if kind == "json":
                text_columns(duckdb.connect(), paths, kind)
                table = self._view(self.session.read.json(list(paths)))
            else:
                base = partition_root(paths)
                reader = self.session.read.option("basePath", base) if base else self.session.read
                table = self._view(reader.parquet(*paths))
        except (PySparkException, duckdb.Error) as error:
            raise SourceError(f"Spark cannot read {printable(paths[0])}: {first_lines(error)}") from error
        return Opened(table, tuple(table.columns))

    def open_table(self, stored: StoredTable) -> Opened:
        """Open a table of Spark's catalogue."""
        if stored.path is not None or stored.name is None:
            raise SourceError(
                f"Spark cannot read {printable(stored.path)}.", "Read it with engine='duckdb', or export to Parquet."
            )
        try:
            table = self._view(self.session.table(stored.name))
        except PySparkException as error:
            raise SourceError(f"Spark cannot read {printable(stored.name)}: {first_lines(error)}") from error
        return Opened(table, tuple(table.columns))

    def _read_csv(self, paths: Sequence[str], *, as_text: bool) -> Opened:
        """Let DuckDB tell names and types, so that both engines read the same: Spark alone would make '007' a 7."""
        told = DuckDBEngine.embedded().open_files(paths, "csv", as_text=as_text)
        separator = "\t" if ".tsv" in paths[0].lower() else ","
        schema = PySparkSchema.from_ibis(told.table.schema())
        return Opened(
            self._view(self.session.read.csv(list(paths), header=True, schema=schema, sep=separator)), told.names
        )

    @classmethod
    def of_frame(cls, frame: DataFrame) -> tuple[SparkEngine, ir.Table]:
        """Use the session of a Spark DataFrame, and show the frame to it."""
        engine = cls(ibis.pyspark.connect(frame.sparkSession))
        return engine, engine._view(frame)

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Show an Arrow table to the engine."""
        try:
            return self._view(self.session.createDataFrame(_in_spark_types(frame)))
        except (PySparkException, duckdb.Error) as error:
            raise SourceError(f"Spark cannot read the table: {first_lines(error)}", "Use engine='duckdb'.") from error

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Turn a timestamp expression into microseconds since 1970, UTC."""
        return _unix_micros(moment.cast("timestamp('UTC')"))

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        with _engine_errors():
            return [row.asDict() for row in self._run(expression).collect()]

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        with _engine_errors():
            return self._run(expression).toArrow()

    def stream(self, expression: ir.Table, rows: int) -> Iterator[pa.RecordBatch]:
        """Run an expression and give its result in order, in batches of about so many rows; nothing else may run."""
        import pyarrow as pa

        schema = expression.schema().to_pyarrow()
        with _engine_errors():
            found = self._run(expression).toLocalIterator(prefetchPartitions=True)
            while some := list(islice(found, rows)):
                yield pa.RecordBatch.from_pylist([row.asDict(recursive=True) for row in some], schema=schema)

    def _run(self, expression: ir.Table) -> DataFrame:
        self.backend._run_pre_execute_hooks(expression)
        return self.session.sql(str(self.backend.compile(expression)))

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Keep the result of an expression in the cluster until it is released."""
        with _engine_errors():
            return self.backend._cached_table(expression)

    def progress(self) -> float | None:
        """Return nothing: Spark does not say how far a query is."""
        return None

    def _view(self, frame: DataFrame) -> ir.Table:
        name = f"warmstart_{uuid.uuid4().hex}"
        frame.createTempView(name)
        table = self.backend.table(name)
        weakref.finalize(table.op(), self.session.catalog.dropTempView, name)
        return table


def _in_spark_types(frame: pa.Table) -> pa.Table:
    """Spell UUIDs as text and widen unsigned integers: Spark has no types for them."""
    casts = {field.name: _SPARK_TYPES[str(field.type)] for field in frame.schema if str(field.type) in _SPARK_TYPES}
    if not casts:
        return frame
    columns = {name: duckdb.ColumnExpression(name) for name in frame.column_names}
    cast = [column.cast(casts[name]) if name in casts else column for name, column in columns.items()]
    table: pa.Table = duckdb.connect().from_arrow(frame).select(*cast).to_arrow_table()
    return table.rename_columns(frame.column_names)


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        raise EngineError(f"Spark could not run the query: {first_lines(error)}") from error
