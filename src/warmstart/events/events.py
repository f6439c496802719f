"""The checked log, or a window of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.errors import EmptyWindowError, UsageError
from warmstart.core.names import TIME, Columns
from warmstart.core.window import Moment, Window, iso
from warmstart.events.log import LogTable
from warmstart.events.split import Cut, cut_at, cut_at_rank

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine


@dataclass(frozen=True)
class Events:
    """A log whose columns and values were checked when it was read, or a window of one.

    ``log`` is the whole log as a table of fixed columns; ``dropped`` counts rows left out for want of a value.
    """

    log: LogTable
    window: Window
    dropped: int = 0

    @property
    def columns(self) -> Columns:
        """Return the user's names of the columns."""
        return self.log.columns

    @property
    def engine(self) -> Engine:
        """Return the engine that holds the log."""
        return self.log.engine

    @property
    def inside(self) -> ir.BooleanValue:
        """Return the condition on the whole log that an event lies in this window."""
        time = self.log.table[TIME] if self.columns.time is not None else None
        condition: ir.BooleanValue = ibis.literal(True)
        if time is not None and self.window.start is not None:
            condition = condition & (time >= self.window.start)
        if time is not None and self.window.stop is not None:
            condition = condition & (time < self.window.stop)
        return condition

    @property
    def table(self) -> ir.Table:
        """Return the events of this window: context_0, ..., action, reward in [0, 1][, time in microseconds]."""
        if self.window.start is None and self.window.stop is None:
            return self.log.table
        return self.log.table.filter(self.inside)

    def split(self, *, at: Moment | None = None, fraction: float | None = None) -> tuple[Events, Events]:
        """Split in time: ``train, test = events.split(fraction=0.65)``.

        ``at`` puts events before that moment first. ``fraction`` puts about that share of the time-ordered events
        first; events of the same time stay together.
        """
        if (at is None) == (fraction is None):
            raise UsageError("Split either at a time or at a fraction.", "Pass one of at=..., fraction=...")
        if self.columns.time is None:
            raise UsageError(
                "A log without a time column cannot be split in time.",
                "Name the column with time=...; random folds of events come with a later version.",
            )
        cut = (
            self._cut_at(fraction or 0.0) if at is None else cut_at(self.engine, self.table, self.log.microseconds(at))
        )
        for side in ("earlier", "later"):
            if not getattr(cut, side):
                raise EmptyWindowError(
                    f"Split at {iso(cut.time)}, the {side} window has no events.",
                    f"The log runs from {iso(self.window.first)} to {iso(self.window.last)}.",
                )
        whole = self.window
        before = Window(cut.earlier, whole.start, cut.time, whole.first, cut.last_earlier)
        after = Window(cut.later, cut.time, whole.stop, cut.first_later, whole.last)
        return replace(self, window=before), replace(self, window=after)

    def _cut_at(self, fraction: float) -> Cut:
        if not 0 < fraction < 1:
            raise UsageError(f"The fraction must lie between 0 and 1, and is {fraction}.")
        window = self.window
        if window.first is None or window.last is None:
            raise EmptyWindowError("There are no events to split.")
        rank = fraction * window.events
        return cut_at_rank(self.engine, self.table, rank, first=window.first, last=window.last)

    def __len__(self) -> int:
        return self.window.events

    def __repr__(self) -> str:
        named: dict[str, Any] = {"context": ", ".join(self.columns.context), "action": self.columns.action}
        named |= {"reward": self.columns.reward} | ({"time": self.columns.time} if self.columns.time else {})
        return f"Events({self.window}; {', '.join(f'{key}={value}' for key, value in named.items())})"
