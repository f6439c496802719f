"""A span of events, by time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from warmstart.core.errors import UsageError
from warmstart.core.text import counted, quoted

Moment = str | int | date | datetime
"""When: ISO text, a date or datetime, or an integer in the unit of the log's own times."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """Events from ``start`` (inclusive) to ``stop`` (exclusive), in microseconds since 1970; None is unbounded.

    ``first`` and ``last`` are the times of its first and last event. ``steps``: times are numbers that only say what
    came first.
    """

    events: int
    start: int | None = None
    stop: int | None = None
    first: int | None = None
    last: int | None = None
    steps: bool = False

    def overlaps(self, other: Window) -> bool:
        """Tell whether an event could lie in both windows."""
        ends = ((self.start, other.stop), (other.start, self.stop))
        return all(start is None or stop is None or start < stop for start, stop in ends)

    def to_dict(self) -> dict[str, int | str | None]:
        """Return a window for JSON: ``from`` its first event ``until`` its last, and its ends."""
        ends: dict[str, str | bool | None] = {"start": iso(self.start), "stop": iso(self.stop)}
        ends |= {"steps": True} if self.steps else {}
        return {"events": self.events, "from": iso(self.first), "until": iso(self.last), **ends}

    def __str__(self) -> str:
        if self.first is None or self.last is None:
            return counted(self.events, "event")
        return f"{counted(self.events, 'event')}, {span(self.first, self.last, steps=self.steps)}"


def span(first: int | str, last: int | str, *, steps: bool) -> str:
    """Show from when to when, in UTC, or from which step to which.

    >>> span(0, 1_200, steps=True), span(0, 86_400_000_000, steps=False)
    ('steps 0 to 1,200', '1970-01-01 00:00 to 1970-01-02 00:00 UTC')
    """
    if not steps:
        return f"{minute(first)} to {minute(last)} UTC"
    numbers = [microseconds(time) if isinstance(time, str) else time for time in (first, last)]
    return f"steps {numbers[0]:,} to {numbers[1]:,}"


def minute(time: int | str) -> str:
    """Show a time, in microseconds since 1970 or as ISO 8601, to the minute, in UTC.

    >>> minute(0), minute("2026-10-01T00:00:02.215116+00:00"), minute("287168-08-24T16:00:00.000000+00:00")
    ('1970-01-01 00:00', '2026-10-01 00:00', '287168-08-24 16:00')
    """
    try:
        since = microseconds(time) if isinstance(time, str) else time
    except UsageError:
        # A year that engines know and Python does not, as iso wrote it.
        day, _, clock = str(time).partition("T")
        return f"{day} {clock[:5]}"
    try:
        return f"{_EPOCH + timedelta(microseconds=since):%Y-%m-%d %H:%M}"
    except OverflowError:
        return timestamp(since)[:-10].replace("T", " ")


def date_of(day: int) -> str:
    """Write a day, counted from 1970-01-01.

    >>> date_of(20_000)
    '2024-10-04'
    """
    return minute(day * 86_400_000_000).rpartition(" ")[0]


def microseconds(moment: str | date | datetime) -> int:
    """Turn a user's moment into microseconds since 1970. Times without a zone are UTC, as in the log.

    >>> microseconds("1970-01-02")
    86400000000
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise UsageError(
                f"Cannot read {quoted(moment)} as a time.", "Write it like 2026-10-21 or 2026-10-21T06:00:00+02:00."
            ) from error
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def iso(time: int | None) -> str | None:
    """Write microseconds since 1970 as ISO 8601 in UTC."""
    if time is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=time)).isoformat()
    except OverflowError:
        return f"{timestamp(time)}+00:00"


def timestamp(time: int) -> str:
    """Write microseconds since 1970 as ISO 8601, UTC, without a zone; in any year that engines know.

    >>> timestamp(9 * 10**18)
    '287168-08-24T16:00:00.000000'
    """
    import numpy as np

    return str(np.datetime_as_string(np.datetime64(time, "us")))
