"""The traffic of contexts by day, and their cells in the same order, for a sweep in this process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import DAY, MICROSECONDS_PER_DAY, TIME, EngineError, to_numpy
from warmstart.engine import fetch_columns
from warmstart.events import day_of
from warmstart.kernels import Traffic

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.events import Cells

CHANGED = EngineError("The log changed while it was read.", "Read it again.")
# Of an event's key while it is sorted, and of what is made of it; so many events are fetched at a time.
BYTES_AN_EVENT, EVENTS_AT_A_TIME = 10, 500_000
# The log is read this often at most, so that the keys of a part of the contexts have room.
MOST_PARTS = 4
ROW = "row"


def orders(cells: Cells) -> Iterator[tuple[ir.Table, Traffic]]:
    """Yield the cells of the evaluated contexts, ordered by context, and the traffic in the same order.

    First in the order of a hash, which few contexts share; then, for when some do, in that of the contexts themselves.
    """
    table, contexts = cells.table.mutate(**{ROW: cells.table.rowid()}), list(cells.columns.context_keys)
    table = table.filter(table.context_n > 0)
    if cells.traffic is None and (parts := _parts(cells)) <= MOST_PARTS:
        key = cells.engine.key_hash([table[name] for name in contexts])
        yield table.order_by([key, *contexts]), _sorted_here(cells, parts)
    daily = cells.daily_traffic.order_by([*contexts, DAY])
    traffic = daily.select(day=daily[DAY].cast("int32"), events=daily.n.cast("uint32"))
    day, events = fetch_columns(cells.engine, traffic)
    yield table.order_by(contexts), Traffic(day, events)


def _parts(cells: Cells) -> int:
    """Return into how many parts to divide contexts, so that the keys of a part's events have room: a power of two."""
    share = BYTES_AN_EVENT * len(cells.evaluated) / cells.engine.room
    return 1 << max(math.ceil(math.log2(share)), 0) if share > 0 else 1


def _sorted_here(cells: Cells, parts: int) -> Traffic:
    """Sort a number for every event: its context's hash, with the day in the place of the last bits."""
    events, engine = cells.evaluated.table, cells.engine
    first, last = ((moment or 0) // MICROSECONDS_PER_DAY for moment in _ends(cells))
    bits = int(last - first).bit_length()
    keys = [events[name].cast(cells.table[name].type()) for name in cells.columns.context_keys]
    rows = events.select(key=engine.key_hash(keys), day=(day_of(events[TIME]) - first).cast("int32"))
    of_parts = []
    for part in range(parts):
        some = rows if parts == 1 else rows.filter((rows.key >> (65 - parts.bit_length())) == part)
        numbers = _numbers(some, cells, bits)
        of_parts.append(Traffic.of_keys(numbers, bits))
    traffic = Traffic.together(of_parts)
    if traffic.events.sum(dtype=np.int64) != len(cells.evaluated):
        raise CHANGED
    return traffic._replace(day=traffic.day + np.int32(first))


def _numbers(rows: ir.Table, cells: Cells, bits: int) -> NDArray[np.uint64]:
    """Fetch the keys of some contexts' events, with days in the place of their last bits."""
    result, done = np.empty(len(cells.evaluated), dtype=np.uint64), 0
    for batch in cells.engine.stream(rows, EVENTS_AT_A_TIME):
        key, day = (to_numpy(column) for column in batch.columns)
        if done + len(key) > len(result) or (day >> bits).any():
            raise CHANGED
        result[done : done + len(key)] = key >> np.uint64(bits) << np.uint64(bits) | day.astype(np.uint64)
        done += len(key)
    return result[:done]


def _ends(cells: Cells) -> tuple[int | None, int | None]:
    window = cells.evaluated.window
    return window.first, window.last
