"""From a name, or from a table that already lives somewhere, to an engine."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import ibis.expr.types as ir

from warmstart.core.errors import UsageError
from warmstart.core.text import quoted
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.engine import Engine
from warmstart.engine.ibis_engine import IbisEngine


def connect(name: str = "duckdb", *, memory_limit: str | None = None, threads: int | None = None) -> Engine:
    """Connect to an engine by name: ``duckdb`` (embedded), ``spark`` (on this machine) or ``spark://host:port``."""
    if name == "duckdb":
        return DuckDBEngine.embedded(memory_limit=memory_limit, threads=threads)
    if name == "spark" or name.startswith("spark://"):
        _require_pyspark()
        from warmstart.engine.spark_engine import SparkEngine

        if name == "spark":
            return SparkEngine.local(memory_limit=memory_limit, threads=threads)
        return SparkEngine.cluster(name, memory_limit=memory_limit, threads=threads)
    raise UsageError(f"There is no engine {quoted(name)}.", "Choose 'duckdb', 'spark' or 'spark://host:port'.")


def at_home(source: Any) -> tuple[Engine | None, Any]:
    """Return the engine where a source already lives, if it does, and the source as an Ibis table there."""
    if isinstance(source, ir.Table):
        return engine_of(source), source
    if type(source).__module__.startswith("pyspark."):
        from warmstart.engine.spark_engine import SparkEngine

        return SparkEngine.of_frame(source)
    return None, source


def engine_of(table: ir.Table) -> Engine | None:
    """Return the engine where an Ibis table lives; None for a table in memory, which lives nowhere yet."""
    backends, _ = table._find_backends()
    if not backends:
        return None
    backend = backends[0]
    if backend.name == "duckdb":
        return DuckDBEngine(backend)
    if backend.name == "pyspark":
        from warmstart.engine.spark_engine import SparkEngine

        return SparkEngine(backend)
    return IbisEngine(backend)


def _require_pyspark() -> None:
    if find_spec("pyspark") is None:
        raise UsageError("The Spark engine needs pyspark.", "Install it with: pip install 'warmstart[spark]'")
