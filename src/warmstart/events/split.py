"""Split events at a time or at a quantile of time, without sorting: a histogram that zooms in."""

from __future__ import annotations

from dataclasses import dataclass

import ibis
import ibis.expr.types as ir

from warmstart.core import TIME
from warmstart.engine import Engine

BUCKETS = 1 << 18
FEW_EVENTS = 1 << 16


@dataclass(frozen=True)
class Cut:
    """Events before ``time`` are earlier, the others later: how many, and the times on either side of the cut."""

    time: int
    earlier: int
    later: int
    last_earlier: int | None
    first_later: int | None


def cut_at(engine: Engine, events: ir.Table, time: int) -> Cut:
    """Return the cut at a time."""
    early = events[TIME] < time
    sums = events.agg(
        earlier=early.cast("int64").sum(),
        later=(~early).cast("int64").sum(),
        last=early.ifelse(events[TIME], None).max(),
        first=early.ifelse(None, events[TIME]).min(),
    )
    return Cut(time, *engine.fetch(sums)[0].values())


def cut_at_rank(engine: Engine, events: ir.Table, rank: float, *, first: int, last: int) -> Cut:
    """Return the cut next to the event of a rank: before or after all events of its time, whichever is nearer.

    Each pass counts events in equal spans and zooms into the span that has the rank, so memory stays flat, until the
    span has few events. Neither side is left empty if there are two times.

    Args:
        engine: Where the events are.
        events: The events, with times.
        rank: How many events should be earlier.
        first: The time of the first event.
        last: The time of the last event.
    """
    low, high, before = first, last, 0
    while high > low:
        width = -(-(high - low + 1) // BUCKETS)
        bucket, n, until = engine.fetch(_span_of_rank(events, rank - before, low, high, width))[0].values()
        before += until - n
        low, high = low + bucket * width, min(low + (bucket + 1) * width - 1, high)
        if n <= FEW_EVENTS:
            break
    row = engine.fetch(_time_of_rank(events, rank, low, high))[0]
    until, ties = row["until"], row["n"]
    is_last = row["next_first"] is None
    after = until == ties or (abs(until - rank) <= abs(until - ties - rank) and not is_last)
    earlier = until if after else until - ties
    neighbours = (row["last"], row["next_first"]) if after else (row["previous_last"], row["first"])
    return Cut(row["place"] + int(after), earlier, row["total"] - earlier, *neighbours)


def _span_of_rank(events: ir.Table, rank: float, low: int, high: int, width: int) -> ir.Table:
    """Return the first span whose cumulative count of events reaches the rank: bucket, n, until."""
    inside = events.filter(events[TIME] >= low, events[TIME] <= high)
    bucket = ((inside[TIME] - low) / width).floor().cast("int64")
    spans = inside.group_by(bucket=bucket).agg(n=inside.count())
    spans = spans.mutate(until=spans.n.sum().over(ibis.window(order_by="bucket", preceding=None, following=0)))
    return spans.filter(spans.until >= rank).order_by("bucket").limit(1).mutate(until=ibis._.until.cast("int64"))


def _time_of_rank(events: ir.Table, rank: float, low: int, high: int) -> ir.Table:
    """Return the first time in a span whose cumulative count of events reaches the rank, and the times next to it.

    All events before the span, and all after it, count as one time each.
    """
    place = ibis.greatest(ibis.least(events[TIME], ibis.literal(high + 1)), ibis.literal(low - 1))
    times = events.group_by(place=place).agg(n=events.count(), first=events[TIME].min(), last=events[TIME].max())
    along = ibis.window(order_by="place")
    times = times.mutate(
        until=times.n.sum().over(ibis.window(order_by="place", preceding=None, following=0)).cast("int64"),
        total=times.n.sum().over(ibis.window()).cast("int64"),
        previous_last=times["last"].lag().over(along),
        next_first=times["first"].lead().over(along),
    )
    return times.filter(times.place >= low, times.until >= rank).order_by("place").limit(1)
