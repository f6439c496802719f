"""Find the time of the k-th event without sorting: histograms that zoom in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import TIME

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

BUCKETS = 1 << 21


def time_of_event(engine: Engine, events: ir.Table, rank: float, *, first: int, last: int) -> tuple[int, int, int]:
    """Return (events before t, t, events at t) for the time t of the event of this rank.

    Each pass counts events in at most two million equal spans and keeps the span with the rank in it, so memory stays
    flat and a month in microseconds takes two passes.
    """
    low, high, before = first, last, 0
    while True:
        width = -(-(high - low + 1) // BUCKETS)
        bucket, n, until = engine.fetch(_span_of_rank(events, rank - before, low, high, width))[0].values()
        before += until - n
        if width == 1:
            return before, low + bucket, n
        low, high = low + bucket * width, min(low + (bucket + 1) * width - 1, high)


def _span_of_rank(events: ir.Table, rank: float, low: int, high: int, width: int) -> ir.Table:
    """Return the first span whose events, with all before, reach the rank: bucket, n, until."""
    inside = events.filter(events[TIME] >= low, events[TIME] <= high)
    bucket = ((inside[TIME] - low) / width).floor().cast("int64")
    spans = inside.group_by(bucket=bucket).agg(n=inside.count())
    spans = spans.mutate(until=spans.n.sum().over(ibis.window(order_by="bucket", preceding=None, following=0)))
    return spans.filter(spans.until >= rank).order_by("bucket").limit(1).mutate(until=ibis._.until.cast("int64"))
