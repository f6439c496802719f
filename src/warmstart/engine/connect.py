"""Connect to an engine by name, or find the engine of a table that already lives in one."""

from __future__ import annotations

import weakref
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir

from warmstart.core import UsageError, quoted
from warmstart.engine.database_engine import DatabaseEngine
from warmstart.engine.databases import connect_database
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import Engine, LocalEngine, StoredTable

if TYPE_CHECKING:
    from ibis.backends import BaseBackend

    from warmstart.engine.spark_engine import SparkEngine


MOST_THREADS = 4_096


def connect(name: str = "duckdb", *, memory_limit: str | None = None, threads: int | None = None) -> LocalEngine:
    """Connect to an engine by name: ``duckdb`` (embedded), ``spark`` (on this machine) or ``spark://host:port``.

    Pass it to ``read_events(..., engine=...)`` or ``join`` to limit memory and threads, as ``--memory-limit 4GB`` and
    ``--threads`` do on the command line: ``connect("duckdb", memory_limit="4GB", threads=2)``.

    >>> connect(memory_limit="1GB", threads=1).name
    'duckdb'
    """
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads must lie between 1 and {MOST_THREADS:,}, and is {threads:,}.")
    if name == "duckdb":
        return DuckDBEngine.embedded(memory_limit=memory_limit, threads=threads)
    if name == "spark" or name.startswith("spark://"):
        if find_spec("pyspark") is None:
            raise UsageError("The Spark engine needs pyspark.", "Install it with: pip install 'warmstart[spark]'")
        if name == "spark":
            return _spark().local(memory_limit=memory_limit, threads=threads)
        return _spark().cluster(name, memory_limit=memory_limit, threads=threads)
    raise UsageError(f"There is no engine {quoted(name)}.", "Choose 'duckdb', 'spark' or 'spark://host:port'.")


def resolve_engine(source: Any, requested: str | Engine) -> tuple[Engine, Any]:
    """Return the engine in which a source lives, or else the requested one, and the source as that engine knows it."""
    # An ibis.memtable has no backend: it lives nowhere yet.
    if isinstance(source, ir.Table) and (backends := source._find_backends()[0]):
        return _engine_of(backends[0], requested), source
    if type(source).__module__.startswith("pyspark."):
        spark = _spark().of_session(source.sparkSession)
        return spark, spark.open_frame(source)
    if isinstance(source, StoredTable) and source.url is not None:
        local, backend = _local_duckdb(requested), connect_database(source.url)
        engine = DatabaseEngine(backend, local, url=source.url)
        weakref.finalize(engine, backend.disconnect)
        return engine, source
    if type(requested).__module__.startswith("pyspark."):
        return _spark().of_session(requested), source
    return connect(requested) if isinstance(requested, str) else requested, source


def _engine_of(backend: BaseBackend, requested: str | Engine) -> Engine:
    if backend.name == "duckdb":
        return DuckDBEngine(backend)
    return _spark()(backend) if backend.name == "pyspark" else DatabaseEngine(backend, _local_duckdb(requested))


def _spark() -> type[SparkEngine]:
    from warmstart.engine.spark_engine import SparkEngine

    return SparkEngine


def _local_duckdb(requested: str | Engine) -> DuckDBEngine:
    """Return the DuckDB engine that takes over the sums of a database."""
    engine = connect(requested) if isinstance(requested, str) and requested != "spark" else requested
    engine = engine.local if isinstance(engine, DatabaseEngine) else engine
    if not isinstance(engine, DuckDBEngine):
        raise UsageError(
            "A log in a database is summed there, and DuckDB does the rest.", "Leave engine=... (--engine) out."
        )
    return engine
