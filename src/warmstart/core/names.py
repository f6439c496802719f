"""The fixed column names that tables carry inside, and the user's own names for them.

Engines differ in how they fold case, so a user's names never enter an expression: columns get
these names at birth, and the user's names come back only in messages and results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ACTION = "action"
REWARD = "reward"
TIME = "time"
DAY = "day"
PROBABILITY = "probability"
PROPENSITY = "propensity"
EVENT_ID = "event_id"
FOLD = "fold"
EPOCH = "epoch"
# What an event counts, where every unit counts the same: one over the events of its unit.
EVENT_WEIGHT = "event_weight"
# Columns of the weighted table: the policy's whole share in a context, the reward model's expectation of an action, the
# same without the rewards of its own cell, and that of the policy's choice in the context.
DECIDED = "decided"
EXPECTED = "expected"
LEFT_OUT = "left_out"
# How far that is off, relative to m * (1 - m): a cell for itself, all cells of its action, all of its context; and how
# far rewards inside a cell differ.
SPREAD = "spread"
ACTION_ERROR = "action_error"
CONTEXT_ERROR = "context_error"
NOISE = "noise"
MODEL_VALUE = "model_value"
# A column of rows that were shown: the reward that was expected in a context before the window, or its epoch.
BEFORE = "before"
# The share of its cell that a row stands for.
PART = "part"
# Columns of a sample of events, each with all actions: the event's number, how many events it stands for, whether the
# action was shown, and its propensity in the event's own epoch.
ROW = "row"
EVENTS = "events"
SHOWN = "shown"
OWN_EPOCH = "own_epoch"
MICROSECONDS_PER_DAY = 86_400_000_000

WindowName = Literal["evaluated", "train", "all"]
WINDOW_NAMES: tuple[WindowName, ...] = ("evaluated", "train", "all")


@dataclass(frozen=True)
class Columns:
    """The user's names of the columns of a log."""

    context: tuple[str, ...]
    action: str
    reward: str
    time: str | None = None
    propensity: str | None = None
    event_id: str | None = None
    epoch: str | None = None
    unit: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def context_keys(self) -> tuple[str, ...]:
        """Return the fixed names of the context columns."""
        return tuple(f"context_{i}" for i in range(len(self.context)))

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the fixed names that identify a cell."""
        return (*self.context_keys, ACTION)

    @property
    def unit_keys(self) -> tuple[str, ...]:
        """Return the fixed names of the columns that identify a unit; none if events are independent."""
        return tuple(f"unit_{i}" for i in range(len(self.unit)))

    @property
    def also_keys(self) -> tuple[str, ...]:
        """Return the fixed names of further outcomes."""
        return tuple(f"also_{i}" for i in range(len(self.also)))

    @property
    def known_after(self) -> tuple[str, ...]:
        """Return the names of what is known after acting only: the action and its outcomes."""
        return (self.action, self.reward, *self.also)

    @property
    def fixed_to_given(self) -> dict[str, str]:
        """Map each fixed name to the user's."""
        given = dict(zip(self.keys, (*self.context, self.action), strict=True))
        given[REWARD] = self.reward
        optional = {TIME: self.time, PROPENSITY: self.propensity, EVENT_ID: self.event_id, EPOCH: self.epoch}
        given |= {fixed: name for fixed, name in optional.items() if name is not None}
        given |= dict(zip(self.unit_keys, self.unit, strict=True))
        return given | dict(zip(self.also_keys, self.also, strict=True))
