"""Logged bandit events: read and check a log, split it into windows, sum it into (context, action) cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.events.cells import *  # noqa: F403
    from warmstart.events.check import *  # noqa: F403
    from warmstart.events.choices import *  # noqa: F403
    from warmstart.events.daily import *  # noqa: F403
    from warmstart.events.deferring import *  # noqa: F403
    from warmstart.events.epoch_history import *  # noqa: F403
    from warmstart.events.epoch_strata import *  # noqa: F403
    from warmstart.events.epochs import *  # noqa: F403
    from warmstart.events.folds import *  # noqa: F403
    from warmstart.events.free_text import *  # noqa: F403
    from warmstart.events.log_table import *  # noqa: F403
    from warmstart.events.numbered_times import *  # noqa: F403
    from warmstart.events.outcomes import *  # noqa: F403
    from warmstart.events.read import *  # noqa: F403
    from warmstart.events.slots import *  # noqa: F403
    from warmstart.events.strata import *  # noqa: F403
    from warmstart.events.utility import *  # noqa: F403
    from warmstart.events.visits import *  # noqa: F403
    from warmstart.events.window import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "cells": "Cells counted_propensity counted_within days_known epochs_known open_cells window_counts",
        "check": "ZONE_AT_THE_END",
        "choices": "NO_CHOICE NO_VALUE with_choices with_context",
        "epoch_history": "N_BEFORE RATE_BEFORE REWARD_SUM_BEFORE EpochHistory",
        "epoch_strata": "open_epoch_strata",
        "epochs": "COLUMN DAYS_BEFORE_MONDAY EpochList Epochs HOUR KEYWORDS day_of epoch_label epoch_of epoch_start",
        "deferring": "AS_LOGGING with_deferral",
        "daily": "DailyCells open_daily_cells",
        "folds": "Folds with_key_folds",
        "free_text": "free_texts free_texts_of without_texts",
        "log_table": "Numbered TIME_AS_WRITTEN as_key as_number as_time in_microseconds missing text_as_time "
        "ticks_per_day",
        "outcomes": "Fill IF_NEGATIVE maximized outcome_view with_outcomes",
        "numbered_times": "unit_of_integers",
        "read": "check_roles named_outcomes parse_ranges read_events",
        "slots": "SLOT SLOTS_PER_HOUR Slots open_slots",
        "strata": "FOLDS Strata fetch_to_learn_from open_strata",
        "utility": "Utility with_utility",
        "visits": "VISIT_N VISIT_REWARD Visits some_units unit_visits",
        "window": "Events event_count event_weight in_one_engine per_unit",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
