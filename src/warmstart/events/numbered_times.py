"""Times that are integers: since 1970, or numbered days or steps, as anonymised logs have them."""

from __future__ import annotations

from dataclasses import replace

from warmstart.core import MICROSECONDS_PER_DAY, TIME, ColumnError, UsageError, quoted
from warmstart.events.log_table import LogTable, ticks_per_day

# Fewer events than this to a number, on average, and the numbers only say what came first.
EVENTS_A_DAY = 20
# Day numbers that can be shown as dates, of the years 1000 to 9999 if day 0 is in 1970.
MOST_DAYS, MOST_STEPS = 354_000, 1 << 53
# Dates written as YYYYMMDD, with HHMM or HHMMSS behind, which neither count nor have equal distances.
DATES = tuple((19_000_101 * ticks, 21_001_232 * ticks) for ticks in (1, 10_000, 1_000_000))


def unit_of_integers(log: LogTable, first: int, last: int, events: int) -> LogTable:
    """Return the log with the unit of its integer times, by their size, and by how many events each has.

    Integers that are no times since 1970 number days if they have many events each: then a day is one of them, for
    live actions and epochs alike. Else they are steps, which only say what came first: all of them are in one day.
    """
    ticks = ticks_per_day(first, last)
    if ticks is not None:
        return replace(log, ticks_per_day=ticks)
    name = quoted(log.columns.time)
    span = f"{log.where}: the times in {name} run from {first} to {last}, which are no seconds, milli-, micro- or "
    if any(low <= first and last < high for low, high in DATES):
        raise ColumnError(
            f"{span}nanoseconds since 1970, but look like dates written YYYYMMDD[HHMM[SS]].",
            "Turn them into dates first.",
        )
    if not -MOST_STEPS <= first <= last <= MOST_STEPS:
        raise ColumnError(f"{span}nanoseconds since 1970.", "Turn them into timestamps first.")
    numbers = log.engine.fetch(log.table.agg(n=log.table[TIME].nunique()))[0]["n"]
    if events >= EVENTS_A_DAY * numbers and -MOST_DAYS <= first <= last <= MOST_DAYS:
        if log.epochs is not None and log.epochs.kind == "hour":
            raise _no_epochs(name, "days", "Take --epoch day or week.")
        return replace(log, ticks_per_day=1, numbered="day")
    if log.epochs is not None and log.epochs.column is None:
        raise _no_epochs(name, "steps", "Make a column that says which epoch an event belongs to: --epoch COLUMN.")
    return replace(log, ticks_per_day=MICROSECONDS_PER_DAY, numbered="step")


def _no_epochs(name: str, what: str, hint: str) -> UsageError:
    return UsageError(f"The times in {name} number {what}, so that there are no such epochs.", hint)
