"""Engines (DuckDB, Spark, databases): open any source as an Ibis table and run expressions on it."""

from warmstart.engine.columns import example_rows, fetch_columns, float_literal, open_columns
from warmstart.engine.connect import connect, resolve_engine
from warmstart.engine.databases import check_url, has_scheme, is_storage
from warmstart.engine.engine import Engine, LocalEngine, Row, SourceTable, StoredTable
from warmstart.engine.files import expand, kind_of, one_kind
from warmstart.engine.partitioned import (
    PART,
    PartitionedEngine,
    Parts,
    add_predictions,
    fetch_streamed,
    is_partitioned,
    sample_by_key,
)
from warmstart.engine.sources import describe, is_csv, open_every_column, open_source, open_whole, stored_table

__all__ = [
    "PART",
    "Engine",
    "LocalEngine",
    "PartitionedEngine",
    "Parts",
    "Row",
    "SourceTable",
    "StoredTable",
    "add_predictions",
    "check_url",
    "connect",
    "describe",
    "example_rows",
    "expand",
    "fetch_columns",
    "fetch_streamed",
    "float_literal",
    "has_scheme",
    "is_csv",
    "is_partitioned",
    "is_storage",
    "kind_of",
    "one_kind",
    "open_columns",
    "open_every_column",
    "open_source",
    "open_whole",
    "resolve_engine",
    "sample_by_key",
    "stored_table",
]
