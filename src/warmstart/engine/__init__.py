"""Where tables live: opens any source as an Ibis table, runs expressions. The only room that connects."""

from warmstart.engine.columns import fetch_columns, open_columns
from warmstart.engine.connect import connect, resolve_engine
from warmstart.engine.engine import Engine, LocalEngine, Opened, StoredTable
from warmstart.engine.literals import float_literal
from warmstart.engine.offenders import offenders
from warmstart.engine.partitioned import PartitionedEngine, Parts, fetch_streamed, is_partitioned, sample_by_key
from warmstart.engine.sources import describe, open_every_column, open_source, open_whole, stored_table

__all__ = [
    "Engine",
    "LocalEngine",
    "Opened",
    "PartitionedEngine",
    "Parts",
    "StoredTable",
    "connect",
    "describe",
    "fetch_columns",
    "fetch_streamed",
    "float_literal",
    "is_partitioned",
    "offenders",
    "open_columns",
    "open_every_column",
    "open_source",
    "open_whole",
    "resolve_engine",
    "sample_by_key",
    "stored_table",
]
