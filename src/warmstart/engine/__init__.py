"""Engines (DuckDB, Spark, databases): open any source as an Ibis table and run expressions on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door
from warmstart.engine.connect import connect as connect  # now: its module has the same name

if TYPE_CHECKING:
    from warmstart.engine.columns import *  # noqa: F403
    from warmstart.engine.connect import resolve_engine as resolve_engine
    from warmstart.engine.databases import *  # noqa: F403
    from warmstart.engine.engine import *  # noqa: F403
    from warmstart.engine.files import *  # noqa: F403
    from warmstart.engine.partitioned import *  # noqa: F403
    from warmstart.engine.sources import *  # noqa: F403
    from warmstart.engine.text_files import NULL_WORDS as NULL_WORDS

_door = Door.to(
    __name__,
    {
        "columns": "example_rows fetch_columns fetch_ordered float_literal",
        "connect": "connect resolve_engine",
        "databases": "check_url has_scheme is_storage",
        "engine": "Engine LocalEngine Row SourceTable StoredTable",
        "files": "expand kind_of one_kind",
        "partitioned": "PART PartitionedEngine PartitionBy add_predictions fetch_streamed is_partitioned sample_by_key",
        "text_files": "NULL_WORDS",
        "sources": "FRAME_LIBRARIES describe frame_to_arrow has_decimal_commas is_csv open_every_column "
        "open_some_columns open_source open_whole stored_table",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
