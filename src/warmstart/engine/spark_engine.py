"""The Spark engine, on this machine or on a cluster, for logs that outgrow one machine."""

from __future__ import annotations

import os
import pickle
import re
import sys
import uuid
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

import duckdb
import ibis
import ibis.expr.types as ir
from ibis.backends.pyspark.datatypes import PySparkSchema
from py4j.protocol import Py4JError
from pyspark import SparkContext, cloudpickle
from pyspark.core.broadcast import Broadcast
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it
from pyspark.sql.types import DayTimeIntervalType

from warmstart.core import EngineError, SourceError, UsageError, first_lines, printable, quoted
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import BATCH, FileKind, LocalEngine, Row, SourceTable, StoredTable
from warmstart.engine.files import partition_root
from warmstart.engine.memory_limit import size_of
from warmstart.engine.partitioned import PART
from warmstart.engine.text_files import numbers_of_text, text_form

if TYPE_CHECKING:
    import ibis.expr.schema as sch
    import pyarrow as pa
    from ibis.backends.pyspark import Backend

    from warmstart.engine.partitioned import MapPartition, MapRows, PartitionBy


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="unix_micros", signature=((ibis.dtype("timestamp"),), ibis.dtype("int64"))
)
def _unix_micros(moment: Any) -> Any:
    """Declare Spark's built-in function to Ibis."""


# Arrow types that Spark lacks, and what they are cast to.
_SPARK_TYPES = {"extension<arrow.uuid>": "VARCHAR", **{f"uint{bits}": "BIGINT" for bits in (8, 16, 32, 64)}}
# Parts of dates as strptime has them, and as Spark has them.
_CLOCKS = (("%d", "d"), ("%m", "M"), ("%Y", "yyyy"), ("%H", "H"), ("%I", "h"), ("%M", "mm"), ("%S", "ss"), ("%p", "a"))
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
}
_BACKENDS: weakref.WeakKeyDictionary[SparkSession, Backend] = weakref.WeakKeyDictionary()


class SparkEngine(LocalEngine):
    """An Ibis connection to Spark."""

    name = "spark"
    room = 0.0

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def local(cls, *, memory_limit: str | None = None, threads: int | None = None) -> SparkEngine:
        """Start Spark on this machine, or use the session that is already running."""
        _only_new(memory_limit=memory_limit, threads=threads)
        cores = threads or os.cpu_count() or 1
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        memory = {"spark.driver.memory": _java_size(memory_limit)} if memory_limit is not None else {}
        return cls._start(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores), **memory})

    @classmethod
    def cluster(cls, master: str, *, memory_limit: str | None = None, threads: int | None = None) -> SparkEngine:
        """Connect to a cluster by the address of its master; memory per executor, threads in all."""
        running = SparkContext._active_spark_context
        if running is not None and running.master != master:
            raise UsageError(
                f"This process has a Spark session already, of {quoted(running.master)}.",
                "Stop it, or pass a DataFrame of it.",
            )
        _only_new(memory_limit=memory_limit, threads=threads)
        memory = {"spark.executor.memory": _java_size(memory_limit)} if memory_limit is not None else {}
        cores = {"spark.cores.max": str(threads)} if threads is not None else {}
        return cls._start(master, memory | cores)

    @classmethod
    def _start(cls, master: str, settings: dict[str, str]) -> SparkEngine:
        builder = SparkSession.builder.appName("warmstart").master(master)
        for name, value in {**_SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:  # of py4j or Java
            raise EngineError(
                f"Spark cannot be started at {quoted(master)}: {first_lines(error)}", "Is its master running?"
            ) from error
        session.sparkContext.setLogLevel("ERROR")
        return cls.of_session(session)

    @property
    def session(self) -> SparkSession:
        """Return the Spark session."""
        session: SparkSession = self.backend._session
        return session

    def open_files(self, paths: Sequence[str], kind: FileKind, *, as_text: bool = False) -> SourceTable:
        """Return files of one kind as one table, without copying them; ``as_text`` keeps CSV columns as strings."""
        try:
            if kind == "csv":
                return self._read_csv(paths, as_text=as_text)
            if kind == "json":
                text_form(duckdb.connect(), paths, kind)
                table = self.open_frame(self.session.read.json(list(paths)))
            else:
                base = partition_root(paths[0])
                reader = self.session.read.option("basePath", base) if base else self.session.read
                table = self.open_frame(reader.parquet(*paths))
        except (PySparkException, duckdb.Error) as error:
            raise SourceError(f"Spark cannot read {printable(paths[0])}: {first_lines(error)}") from error
        return SourceTable(table, tuple(table.columns))

    def open_table(self, stored: StoredTable) -> SourceTable:
        """Return a table of Spark's catalogue."""
        if stored.path is not None or stored.name is None:
            raise SourceError(
                f"Spark cannot read {printable(stored.path)}.", "Read it with engine='duckdb', or export to Parquet."
            )
        try:
            table = self.open_frame(self.session.table(stored.name))
        except PySparkException as error:
            raise SourceError(f"Spark cannot read {printable(stored.name)}: {first_lines(error)}") from error
        return SourceTable(table, tuple(table.columns))

    def _read_csv(self, paths: Sequence[str], *, as_text: bool) -> SourceTable:
        """Return CSV files with DuckDB's names and types, so that engines agree: Spark alone would make '007' a 7."""
        opened = DuckDBEngine.embedded().open_files(paths, "csv", as_text=as_text)
        form, types = text_form(duckdb.connect(), paths, "csv"), opened.table.schema()
        separator, quote, escape = form.dialect
        dialect: dict[str, Any] = {"sep": separator, "quote": quote, "escape": escape or quote, "multiLine": True}
        names = ("dateFormat", "timestampFormat", "timestampNTZFormat")
        for name, own in zip(names, (*form.clocks, form.clocks[1]), strict=True):
            dialect |= {name: reduce(lambda text, part: text.replace(*part), _CLOCKS, own)} if own else {}
        worded = [] if as_text else [own for own, name in zip(types, opened.names, strict=True) if name in form.worded]
        commas = [name for name, kind in types.items() if kind.is_floating() and form.decimal_comma]
        texts = {name: None if types[name].is_string() else str(types[name]) for name in (*worded, *commas)}
        schema = PySparkSchema.from_ibis(ibis.schema({**types, **dict.fromkeys(texts, "string")}))
        table = self.open_frame(self.session.read.options(**dialect).csv(list(paths), header=True, schema=schema))
        return SourceTable(numbers_of_text(table, texts, decimal_comma=form.decimal_comma), opened.names)

    @classmethod
    def of_session(cls, session: Any) -> SparkEngine:
        """Return an engine on an existing Spark session; one session always has the same connection."""
        if session not in _BACKENDS:
            _BACKENDS[session] = ibis.pyspark.connect(session)
        return cls(_BACKENDS[session])

    def open_frame(self, frame: DataFrame, inputs: Broadcast[Any] | None = None) -> ir.Table:
        """Return a DataFrame of this session as a table; its view and broadcast inputs are dropped with the table."""
        name = f"warmstart_{uuid.uuid4().hex}"
        _with_durations_in_seconds(frame).createTempView(name)
        table = self.backend.table(name)
        weakref.finalize(table.op(), self.session.catalog.dropTempView, name)
        if inputs is not None:
            weakref.finalize(table.op(), _unpersist, inputs).atexit = False
        return table

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Return an Arrow table as a table of the engine."""
        try:
            return self.open_frame(self.session.createDataFrame(_in_spark_types(frame)))
        except (PySparkException, duckdb.Error) as error:
            raise SourceError(f"Spark cannot read the table: {first_lines(error)}", "Use engine='duckdb'.") from error

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Return a timestamp expression as microseconds since 1970, UTC."""
        return _unix_micros(moment.cast("timestamp('UTC')"))

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        with _engine_errors():
            return [row.asDict() for row in self._run(expression).collect()]

    def fetch_arrow(self, expression: ir.Table) -> pa.Table:
        """Run an expression and return its result as an Arrow table."""
        with _engine_errors():
            return self._run(expression).toArrow()

    def stream(self, expression: ir.Table, rows: int = BATCH) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield the result in order, in Spark's own batches, one partition at a time."""
        import pyarrow as pa

        with _engine_errors():
            for row in self._run(expression).mapInArrow(_as_messages(), "message binary").toLocalIterator():
                yield from pa.ipc.open_stream(row.message)

    def _run(self, expression: ir.Table) -> DataFrame:
        self.backend._run_pre_execute_hooks(expression)
        return self.session.sql(str(self.backend.compile(expression)))

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Run an expression and keep its result in the cluster until it is released."""
        with _engine_errors():
            table = self.backend._cached_table(expression)
        # Spark caches rows on first use: counting them does that now, while their inputs are still cached.
        self.fetch(table.agg(rows=table.count()))
        return table

    def map_batches(self, rows: ir.Table, function: MapRows, schema: sch.Schema, *, inputs: Any) -> ir.Table:
        """Return the rows that a function makes of batches, in any order; ``inputs`` are broadcast to the workers."""
        shared = self._broadcast(inputs)
        frame = self._run(rows).mapInArrow(_over_batches(function, shared), PySparkSchema.from_ibis(schema))
        return self.open_frame(frame, shared)

    def map_partitions(
        self, tables: Sequence[ir.Table], parts: PartitionBy, function: MapPartition, schema: sch.Schema, *, inputs: Any
    ) -> ir.Table:
        """Return the rows that a function makes of the parts of one or two tables; ``inputs`` are broadcast."""
        shared = self._broadcast(inputs)
        part = F.pmod(F.xxhash64(*parts.keys), F.lit(parts.number)).cast("int")
        # Renamed: Spark confuses the columns of two tables that came from one.
        frames = [self._run(table).toDF(*table.columns) for table in tables]
        groups = [frame.withColumn(PART, part).groupBy(PART) for frame in frames]
        grouped, over = (groups[0], _over_part) if len(groups) == 1 else (groups[0].cogroup(groups[1]), _over_two_parts)
        return self.open_frame(grouped.applyInArrow(over(function, shared), PySparkSchema.from_ibis(schema)), shared)

    def _broadcast(self, inputs: Any) -> Broadcast[Any]:
        try:
            return self.session.sparkContext.broadcast(_Packed(inputs))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise EngineError(f"The workers cannot be sent a model: {first_lines(error)}") from error

    def progress(self) -> float | None:
        """Return the share of the running stages' tasks that are done, in percent."""
        tracker = self.session.sparkContext.statusTracker()
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
        tasks, done = sum(stage.numTasks for stage in stages), sum(stage.numCompletedTasks for stage in stages)
        return 100 * done / tasks if tasks else None


def _in_spark_types(frame: pa.Table) -> pa.Table:
    """Return the table with UUIDs as text and unsigned integers as signed: Spark has no types for them."""
    casts = {field.name: _SPARK_TYPES[str(field.type)] for field in frame.schema if str(field.type) in _SPARK_TYPES}
    if not casts:
        return frame
    columns = {name: duckdb.ColumnExpression(name) for name in frame.column_names}
    cast = [column.cast(casts[name]) if name in casts else column for name, column in columns.items()]
    table: pa.Table = duckdb.connect().from_arrow(frame).select(*cast).to_arrow_table()
    return table.rename_columns(frame.column_names)


def _with_durations_in_seconds(frame: DataFrame) -> DataFrame:
    """Give durations a type that Ibis has: it reads no table with Spark's own, from days to seconds."""
    durations = [field.name for field in frame.schema if isinstance(field.dataType, DayTimeIntervalType)]
    columns = {name: frame["`" + name.replace("`", "``") + "`"].cast("interval second") for name in durations}
    return frame.withColumns(columns) if columns else frame


def _unpersist(inputs: Broadcast[Any]) -> None:
    """Free what was broadcast, unless Spark was stopped in the meantime."""
    if SparkContext._active_spark_context is not None:
        inputs.unpersist()


def _java_size(limit: str) -> str:
    """Return a memory limit as Java writes it, in MiB."""
    size = size_of(limit)
    if size is None:
        raise UsageError(f"{quoted(limit)}: Spark takes a size, not a share of the memory.", "Write it like 4GB.")
    return f"{max(int(size / 2**20), 1)}m"


def _only_new(**settings: Any) -> None:
    """Refuse settings of a session where one is running, which would ignore them."""
    given = [name for name, value in settings.items() if value is not None]
    if given and SparkContext._active_spark_context is not None:
        options = " and ".join(f"{name}=... (--{name.replace('_', '-')})" for name in given)
        raise UsageError(
            f"A Spark session is running already, and cannot take {options}.",
            "Stop it, or set them where it is started.",
        )


class _Packed:
    """Inputs pickled with cloudpickle, as Spark does with functions, so that classes of a notebook travel too."""

    def __init__(self, inputs: Any) -> None:
        self.inputs = inputs

    def __reduce__(self) -> tuple[Any, ...]:
        return cloudpickle.loads, (cloudpickle.dumps(self.inputs),)  # type: ignore[no-untyped-call]


def _over_batches(function: MapRows, inputs: Broadcast[Any]) -> Any:
    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                yield from function(pa.Table.from_batches([batch]), inputs.value).to_batches()

    return over


def _over_part(function: MapPartition, inputs: Broadcast[Any]) -> Any:
    return lambda rows: function([rows], inputs.value)


def _over_two_parts(function: MapPartition, inputs: Broadcast[Any]) -> Any:
    return lambda one, other: function([one, other], inputs.value)


def _as_messages() -> Any:
    """Pack every batch, whatever its columns, into one binary value, so that batches arrive one by one."""

    # A function inside a function is sent by value: workers need no warmstart to stream.
    def over(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            packed = pa.BufferOutputStream()
            with pa.ipc.new_stream(packed, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"message": pa.array([packed.getvalue().to_pybytes()], pa.binary())})

    return over


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text, hint = str(error), ""
        # The last error of Python on a worker, if there is one; else the first line.
        lines = [line.strip() for line in text.splitlines() if re.match(r"[\w.]*(Error|Exception): ", line.strip())]
        cause = printable(lines[-1]) if lines and "Traceback" in text else first_lines(error)
        if missing := re.search(r"No module named '(warmstart|sklearn)", text):
            name = {"sklearn": "scikit-learn"}.get(missing[1], missing[1])
            hint = f"Install {name} where the workers are, and name their Python with PYSPARK_PYTHON."
        raise EngineError(f"Spark could not run the query: {cause}", hint) from error
