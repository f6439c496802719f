"""Events that are in the log twice: by their ids, else by rows that are equal in every column, time included.

Some of the events are looked at, all or none of those with the same id or time, so that copies stay together. Rows may
also be equal by chance, where times are coarse: as often as two events of one time are alike that have nothing to do
with each other. More than three times that, and one event in a thousand, is taken for copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import ibis

from warmstart.core import EVENT_ID, MICROSECONDS_PER_DAY, TIME
from warmstart.engine import sample_by_key

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Events

SAMPLE = 20_000
# One in so many times is looked at: primes, so that times in whole seconds or minutes are as good as others.
ONE_IN = (1, 7, 17, 41, 101, 251, 613, 1511, 3701, 9001, 22003, 54001)
TIMES_CHANCE, LEAST_COPIES, LEAST_SHARE = 3.0, 5.0, 1e-3
# Where chance makes more than this share of events alike, times are too coarse to tell copies by.
TOO_COARSE = 0.01


@dataclass(frozen=True)
class Repeats:
    """Copies among the events looked at, and how many chance makes; ``by``: what tells events apart.

    ``coarse``: times are so coarse that nobody can tell.
    """

    by: Literal["id", "row"]
    events: float
    copies: float
    chance: float = 0.0

    @property
    def coarse(self) -> bool:
        """Tell whether chance alone makes so many events alike that copies cannot be told from them."""
        return self.chance > TOO_COARSE * self.events

    @property
    def rings(self) -> bool:
        """Tell whether there are copies: any id that occurs twice, or more equal rows than chance makes."""
        if self.by == "id":
            return self.copies > 0
        least = max(LEAST_COPIES, LEAST_SHARE * self.events)
        return not self.coarse and self.copies > TIMES_CHANCE * self.chance + least


def repeats(events: Events) -> Repeats | None:
    """Look for copies among some of a window's events; None without ids and times, or with whole days for times."""
    table, columns, window = events.table, events.columns, events.window
    if columns.event_id is not None:
        some = sample_by_key(table, [EVENT_ID], SAMPLE / len(events))
        by_id = some.group_by(EVENT_ID).agg(rows=some.count())
        totals = events.engine.fetch(by_id.agg(events=by_id.rows.sum(), ids=by_id.count()))[0]
        shown = float(totals["events"] or 0)
        return Repeats("id", shown, shown - float(totals["ids"])) if shown else None
    if columns.time is None or window.first is None or window.last is None:
        return None
    every = next((prime for prime in ONE_IN if prime * SAMPLE >= len(events)), ONE_IN[-1])
    some = table.filter(table[TIME] % every == 0) if every > 1 else table
    totals = events.engine.fetch(_sums(some))[0]
    if not totals["events"] or not totals["within_day"]:
        return None
    shown = float(totals["events"])
    alike = (float(totals["alike"]) - shown) / max(shown * (shown - 1), 1.0)
    return Repeats("row", shown, shown - float(totals["distinct"]), float(totals["pairs"]) / 2 * alike)


def _sums(some: ir.Table) -> ir.Table:
    """Return one row: events, distinct ones, ordered pairs of one time, and of one content whatever the time."""
    content = [name for name in some.columns if name != TIME]
    rows = some.group_by(*some.columns).agg(rows=some.count().cast("float64"))
    rows = rows.mutate(
        of_time=rows.rows.sum().over(ibis.window(group_by=[TIME])),
        of_content=rows.rows.sum().over(ibis.window(group_by=content)),
    )
    return rows.agg(
        events=rows.rows.sum(),
        distinct=rows.count(),
        pairs=(rows.rows * (rows.of_time - 1.0)).sum(),
        alike=(rows.rows * rows.of_content).sum(),
        within_day=(rows[TIME] % MICROSECONDS_PER_DAY != 0).cast("int64").max(),
    )
