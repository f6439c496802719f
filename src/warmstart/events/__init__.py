"""Logged bandit events: read and check a log, split it into windows, sum it into (context, action) cells."""

from warmstart.core import Window
from warmstart.events.cells import Cells, counted_propensity, counted_within, days_known, open_cells, window_counts
from warmstart.events.check import ZONE_AT_THE_END
from warmstart.events.daily import DailyCells, open_daily_cells
from warmstart.events.folds import Folds
from warmstart.events.log_table import (
    TIME_AS_WRITTEN,
    as_key,
    as_number,
    as_time,
    in_microseconds,
    missing,
    ticks_per_second,
)
from warmstart.events.read import read_events
from warmstart.events.strata import FOLDS, Strata, open_strata
from warmstart.events.window import Events

__all__ = [
    "FOLDS",
    "TIME_AS_WRITTEN",
    "ZONE_AT_THE_END",
    "Cells",
    "DailyCells",
    "Events",
    "Folds",
    "Strata",
    "Window",
    "as_key",
    "as_number",
    "as_time",
    "counted_propensity",
    "counted_within",
    "days_known",
    "in_microseconds",
    "missing",
    "open_cells",
    "open_daily_cells",
    "open_strata",
    "read_events",
    "ticks_per_second",
    "window_counts",
]
