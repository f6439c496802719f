"""Find where a share of the events lies behind, without sorting: a histogram that zooms in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
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
    groups = engine.fetch(_times_around(events, low, high))
    until = list(accumulate(group["n"] for group in groups))
    place = next((i for i, group in enumerate(groups) if group["place"] >= low and until[i] >= rank), len(groups) - 1)
    seen, ties = until[place], groups[place]["n"]
    after = seen - ties == 0 or (abs(seen - rank) <= abs(seen - ties - rank) and place + 1 < len(groups))
    earlier, later = (groups[: place + 1], groups[place + 1 :]) if after else (groups[:place], groups[place:])
    return Cut(
        groups[place]["place"] + int(after),
        sum(group["n"] for group in earlier),
        sum(group["n"] for group in later),
        earlier[-1]["last"] if earlier else None,
        later[0]["first"] if later else None,
    )


def _span_of_rank(events: ir.Table, rank: float, low: int, high: int, width: int) -> ir.Table:
    """Return the first span whose events, with all before, reach the rank: bucket, n, until."""
    inside = events.filter(events[TIME] >= low, events[TIME] <= high)
    bucket = ((inside[TIME] - low) / width).floor().cast("int64")
    spans = inside.group_by(bucket=bucket).agg(n=inside.count())
    spans = spans.mutate(until=spans.n.sum().over(ibis.window(order_by="bucket", preceding=None, following=0)))
    return spans.filter(spans.until >= rank).order_by("bucket").limit(1).mutate(until=ibis._.until.cast("int64"))


def _times_around(events: ir.Table, low: int, high: int) -> ir.Table:
    """Count events at every time of a span, and all before and all after it: place, n, first, last."""
    place = ibis.greatest(ibis.least(events[TIME], ibis.literal(high + 1)), ibis.literal(low - 1))
    groups = events.group_by(place=place)
    return groups.agg(n=events.count(), first=events[TIME].min(), last=events[TIME].max()).order_by("place")
