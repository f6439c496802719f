"""Where tables live: opens any source as an Ibis table, runs expressions. The only room that connects."""

from warmstart.engine.columns import fetch_columns, open_columns
from warmstart.engine.connect import at_home, connect
from warmstart.engine.engine import Engine, Opened, StoredTable, Workshop
from warmstart.engine.literals import float_literal
from warmstart.engine.offenders import offenders
from warmstart.engine.parts import PartedEngine, Parts, fetch_in_batches, runs_in_parts, some_of
from warmstart.engine.sources import open_source, open_whole, stored_table

__all__ = [
    "Engine",
    "Opened",
    "PartedEngine",
    "Parts",
    "StoredTable",
    "Workshop",
    "at_home",
    "connect",
    "fetch_columns",
    "fetch_in_batches",
    "float_literal",
    "offenders",
    "open_columns",
    "open_source",
    "open_whole",
    "runs_in_parts",
    "some_of",
    "stored_table",
]
