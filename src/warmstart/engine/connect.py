"""From a name, or from a table that already lives somewhere, to an engine."""

from __future__ import annotations

import weakref
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir

from warmstart.core.errors import UsageError
from warmstart.core.text import quoted
from warmstart.engine.database_engine import DatabaseEngine
from warmstart.engine.databases import connect_database
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import Engine, LocalEngine, StoredTable

if TYPE_CHECKING:
    from ibis.backends import BaseBackend


def connect(name: str = "duckdb", *, memory_limit: str | None = None, threads: int | None = None) -> LocalEngine:
    """Connect to an engine by name: ``duckdb`` (embedded), ``spark`` (on this machine) or ``spark://host:port``.

    Pass it to ``read_events(..., engine=...)`` or ``join`` to limit memory and threads, as ``--memory-limit 4GB`` and
    ``--threads`` do on the command line: ``connect("duckdb", memory_limit="4GB", threads=2)``.
    """
    if name == "duckdb":
        return DuckDBEngine.embedded(memory_limit=memory_limit, threads=threads)
    if name == "spark" or name.startswith("spark://"):
        _require_pyspark()
        from warmstart.engine.spark_engine import SparkEngine

        if name == "spark":
            return SparkEngine.local(memory_limit=memory_limit, threads=threads)
        return SparkEngine.cluster(name, memory_limit=memory_limit, threads=threads)
    raise UsageError(f"There is no engine {quoted(name)}.", "Choose 'duckdb', 'spark' or 'spark://host:port'.")


def resolve_engine(source: Any, asked: str | Engine) -> tuple[Engine, Any]:
    """Return the engine where a source lives, or else the one asked for, and the source as it is known there."""
    if isinstance(source, ir.Table) and (backend := _backend_of(source)) is not None:
        return _engine(backend, asked), source
    if type(source).__module__.startswith("pyspark."):
        from warmstart.engine.spark_engine import SparkEngine

        return SparkEngine.of_frame(source)
    if isinstance(source, StoredTable) and source.url is not None:
        beside, backend = _beside(asked), connect_database(source.url)
        engine = DatabaseEngine(backend, beside, url=source.url)
        weakref.finalize(engine, backend.disconnect)
        return engine, source
    return _asked_for(asked), source


def _asked_for(asked: str | Engine) -> Engine:
    """Return the engine that was named or given; a Spark session is one, too."""
    if type(asked).__module__.startswith("pyspark."):
        from warmstart.engine.spark_engine import SparkEngine

        return SparkEngine.of_session(asked)
    return connect(asked) if isinstance(asked, str) else asked


def _backend_of(table: ir.Table) -> BaseBackend | None:
    """Return the connection of an Ibis table; None for a table in memory, which lives nowhere yet."""
    backends, _ = table._find_backends()
    return backends[0] if backends else None


def _engine(backend: BaseBackend, asked: str | Engine) -> Engine:
    if backend.name == "duckdb":
        return DuckDBEngine(backend)
    if backend.name == "pyspark":
        from warmstart.engine.spark_engine import SparkEngine

        return SparkEngine(backend)
    return DatabaseEngine(backend, _beside(asked))


def _beside(asked: str | Engine) -> DuckDBEngine:
    engine = connect(asked) if isinstance(asked, str) and asked != "spark" else asked
    engine = engine.beside if isinstance(engine, DatabaseEngine) else engine
    if not isinstance(engine, DuckDBEngine):
        raise UsageError(
            "A log in a database is summed there, and DuckDB does the rest.", "Leave engine=... (--engine) out."
        )
    return engine


def _require_pyspark() -> None:
    if find_spec("pyspark") is None:
        raise UsageError("The Spark engine needs pyspark.", "Install it with: pip install 'warmstart[spark]'")
