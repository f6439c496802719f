"""Where tables live: opens any source as an Ibis table, runs expressions. The only room that connects."""

from warmstart.engine.connect import at_home, connect, engine_of
from warmstart.engine.engine import Engine, Opened
from warmstart.engine.literals import float_literal
from warmstart.engine.offenders import offenders
from warmstart.engine.sources import open_source, open_whole, stored_table

__all__ = [
    "Engine",
    "Opened",
    "at_home",
    "connect",
    "engine_of",
    "float_literal",
    "offenders",
    "open_source",
    "open_whole",
    "stored_table",
]
