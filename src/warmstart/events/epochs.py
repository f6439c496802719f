"""Epochs: stretches of a log in which the logging policy may be taken to be the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from warmstart.core import EPOCH, MICROSECONDS_PER_DAY, TIME, UsageError, minute

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    from numpy.typing import NDArray

HOUR = MICROSECONDS_PER_DAY // 24
LENGTHS = {"hour": HOUR, "day": MICROSECONDS_PER_DAY}
# Weeks begin on Mondays, and 1970 on a Thursday.
DAYS_BEFORE_MONDAY = 3
COLUMN = "column"
PREFIX = f"{COLUMN}:"
KEYWORDS = ("auto", "hour", "day", "week")


@dataclass(frozen=True)
class Epochs:
    """How a log is divided: ``kind`` is auto, hour, day, week, or column, whose name is ``column``."""

    kind: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Read hour, day, week, auto, or the name of a column; ``column:day`` is the column day.

        >>> Epochs.parse("week"), Epochs.parse("version").column, Epochs.parse("column:day").column
        (Epochs(kind='week', column=None), 'version', 'day')
        """
        if text is None:
            return None
        if text in KEYWORDS:
            return cls(text)
        name = text.removeprefix(PREFIX)
        if not name:
            raise UsageError("epoch (--epoch) names no column.", f"Give {', '.join(KEYWORDS)} or a column.")
        return cls(COLUMN, name)

    @property
    def words(self) -> str:
        """Return what an epoch is, for people."""
        return f"a value of {self.column!r}" if self.column is not None else f"one {self.kind}"


@dataclass(frozen=True, eq=False)
class EpochList:
    """The epochs of a window in the order of time: their numbers, their names for people, and their events.

    ``known``: of each, whether anything was known of rewards before it. ``apart``: whether each had ended when the next
    began; those of a column may overlap.
    """

    numbers: NDArray[np.int64]
    labels: tuple[str, ...]
    events: NDArray[np.float64]
    known: NDArray[np.bool_]
    apart: bool = True


def epoch_label(kind: str | int, number: int) -> str:
    """Return an epoch by hour, day or week as people write it: by when it begins, UTC.

    >>> epoch_label("day", 20_000), epoch_label("week", 2857), epoch_label("hour", 480_005)
    ('2024-10-04', '2024-09-30', '2024-10-04 05:00')
    """
    begin = minute(epoch_start(kind, number))
    return begin if kind == "hour" else begin.rpartition(" ")[0]


def epoch_start(kind: str | int, number: int) -> int:
    """Return when an epoch by hour, day, week or so many microseconds begins, in microseconds since 1970."""
    if kind == "week":
        return (number * 7 - DAYS_BEFORE_MONDAY) * MICROSECONDS_PER_DAY
    return number * (kind if isinstance(kind, int) else LENGTHS[kind])


def epoch_of(events: ir.Table, epoch: str | int) -> ir.Value:
    """Return the epoch of every event: by hour, day, week, column, or by so many microseconds since 1970."""
    if epoch == COLUMN:
        return events[EPOCH]
    if epoch == "week":
        return _whole(day_of(events[TIME]) + DAYS_BEFORE_MONDAY, 7)
    return _whole(events[TIME], epoch if isinstance(epoch, int) else LENGTHS[epoch])


def day_of(time: ir.Value) -> ir.Value:
    """Return the day of a time in microseconds, counted from 1970, UTC."""
    return _whole(time, MICROSECONDS_PER_DAY)


def _whole(time: ir.Value, length: int) -> ir.Value:
    """Return how many whole lengths a time is; far from 1970 the quotient of floats may be the next whole number."""
    whole = (time / length).floor().cast("int64")
    return whole - (whole * length > time).cast("int64")
