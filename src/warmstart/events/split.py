"""Find where a share of the events lies behind, without sorting: a histogram that zooms in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import TIME

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

BUCKETS = 1 << 18
FEW = 1 << 16


@dataclass(frozen=True)
class Cut:
    """Events with a time before ``time`` are earlier, the others later; the times next to the cut on either side."""

    time: int
    earlier: int
    later: int
    last_earlier: int | None
    first_later: int | None


def cut_at(engine: Engine, events: ir.Table, time: int) -> Cut:
    """Cut at a time."""
    early = events[TIME] < time
    found = engine.fetch(
        events.agg(
            earlier=early.cast("int64").sum(),
            later=(~early).cast("int64").sum(),
            last=early.ifelse(events[TIME], None).max(),
            first=early.ifelse(None, events[TIME]).min(),
        )
    )[0]
    return Cut(time, *found.values())


def cut_at_rank(engine: Engine, events: ir.Table, rank: float, *, first: int, last: int) -> Cut:
    """Cut next to the event of this rank: before or after all events of its time, whichever is nearer the rank.

    Each pass counts events in equal spans and keeps the span with the rank in it, so memory stays flat; a span of few
    events is then looked at as it is, with what lies before and after. Neither side is left empty, if there are two
    times.
    """
    low, high, before = first, last, 0
    while high > low:
        width = -(-(high - low + 1) // BUCKETS)
        bucket, n, until = engine.fetch(_span_of_rank(events, rank - before, low, high, width))[0].values()
        before += until - n
        low, high = low + bucket * width, min(low + (bucket + 1) * width - 1, high)
        if n <= FEW:
            break
    found = engine.fetch(_place_of_rank(events, rank, low, high))[0]
    seen, ties, total = found["until"], found["n"], found["total"]
    ends = found["next_first"] is None
    after = seen == ties or (abs(seen - rank) <= abs(seen - ties - rank) and not ends)
    earlier = seen if after else seen - ties
    last_earlier, first_later = (
        (found["last"], found["next_first"]) if after else (found["previous_last"], found["first"])
    )
    return Cut(found["place"] + int(after), earlier, total - earlier, last_earlier, first_later)


def _span_of_rank(events: ir.Table, rank: float, low: int, high: int, width: int) -> ir.Table:
    """Return the first span whose events, with all before, reach the rank: bucket, n, until."""
    inside = events.filter(events[TIME] >= low, events[TIME] <= high)
    bucket = ((inside[TIME] - low) / width).floor().cast("int64")
    spans = inside.group_by(bucket=bucket).agg(n=inside.count())
    spans = spans.mutate(until=spans.n.sum().over(ibis.window(order_by="bucket", preceding=None, following=0)))
    return spans.filter(spans.until >= rank).order_by("bucket").limit(1).mutate(until=ibis._.until.cast("int64"))


def _place_of_rank(events: ir.Table, rank: float, low: int, high: int) -> ir.Table:
    """Return the first time of a span whose events, with all before, reach the rank, and what lies next to it.

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
