"""Logged bandit events: read and check a log, split it into windows, sum it into (context, action) cells."""

from warmstart.core.window import Window
from warmstart.events.cells import Cells, counted_propensity, counted_within, days_known, open_cells, window_counts
from warmstart.events.daily import DailyCells, open_daily_cells
from warmstart.events.folds import Folds
from warmstart.events.read import read_events
from warmstart.events.strata import FOLDS, Strata, open_strata
from warmstart.events.window import Events

__all__ = [
    "FOLDS",
    "Cells",
    "DailyCells",
    "Events",
    "Folds",
    "Strata",
    "Window",
    "counted_propensity",
    "counted_within",
    "days_known",
    "open_cells",
    "open_daily_cells",
    "open_strata",
    "read_events",
    "window_counts",
]
