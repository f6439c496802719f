"""Daily-uniform probabilities: sweep over the days of every context, counting the feasible actions that are live.

In NumPy, in blocks of contexts: at the paper's size this takes no longer than loading Numba would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class CellsInOrder(NamedTuple):
    """Columns with an entry for every cell, the cells of a context together.

    ``row`` is what the caller knows the cell by; ``context_cells`` and ``context_events`` repeat the size of the
    context; the action is live from the day ``live_from`` until the day before ``live_until``.
    """

    row: Array
    context_cells: Array
    context_events: Array
    feasible: Array
    live_from: Array
    live_until: Array


def whole_contexts(batches: Iterable[Sequence[Array]]) -> Iterator[CellsInOrder]:
    """Yield batches of cells, cut anew between contexts."""
    rest: list[Array] = []
    for batch in batches:
        columns = [np.concatenate(both) for both in zip(rest, batch, strict=True)] if rest else batch
        cells = CellsInOrder(*columns)
        first = _first_of_contexts(cells.context_cells)
        ends = first + cells.context_cells[first]
        whole = int(ends[ends <= len(cells.row)].max(initial=0))
        yield CellsInOrder(*(column[:whole] for column in cells))
        rest = [column[whole:] for column in cells]


class Traffic(NamedTuple):
    """Events by context and ascending day, the days of a context together; how many contexts, if that is known."""

    day: Array
    events: Array
    contexts: int | None = None

    @classmethod
    def of_keys(cls, keys: NDArray[np.uint64], bits: int) -> Traffic:
        """Count events by key, which is sorted in place: the context's above so many bits, and the day in these.

        Sorting numbers takes a third of the time of grouping and ordering them in an engine.
        """
        keys.sort()
        first = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
        result = keys[first]
        contexts = int(np.count_nonzero(np.diff(result >> np.uint64(bits)))) + min(len(result), 1)
        day = (result & np.uint64((1 << bits) - 1)).astype(np.int32)
        return cls(day, np.diff(first, append=len(keys)).astype(np.uint32), contexts)

    @classmethod
    def together(cls, parts: Sequence[Traffic]) -> Traffic:
        """Join the traffic of contexts with that of others."""
        days, events, contexts = zip(*parts, strict=True)
        return cls(np.concatenate(days), np.concatenate(events), sum(contexts))


class DailySweep:
    """Goes through the contexts of a log once, in the order of their traffic: events by ascending day."""

    def __init__(self, traffic: Traffic) -> None:
        self._day, self._events, self._contexts = traffic
        self._so_far = np.cumsum(self._events, dtype=np.int64)
        self._done = self._contexts_done = 0

    @property
    def is_done(self) -> bool:
        """Whether all of the traffic was that of contexts swept so far."""
        return self._done == len(self._day) and self._contexts in (None, self._contexts_done)

    def shares(self, cells: CellsInOrder) -> NDArray[np.float64] | None:
        """Return h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_xd; k_xd: feasible actions live on d.

        ``cells`` are those of the next contexts. Returns None if the traffic is not theirs.
        """
        first = _first_of_contexts(cells.context_cells)
        if not len(first):
            return np.zeros(0)
        before = self._so_far[self._done - 1] if self._done else 0
        traffic = before + np.cumsum(cells.context_events[first], dtype=np.int64)
        last_day = np.searchsorted(self._so_far, traffic)
        if last_day[-1] >= len(self._day) or (self._so_far[last_day] != traffic).any():
            return None
        days = slice(self._done, int(last_day[-1]) + 1)
        number = np.repeat(np.arange(len(first)), np.diff(last_day, prepend=self._done - 1))
        context = np.repeat(np.arange(len(first)), cells.context_cells[first])
        self._done, self._contexts_done = days.stop, self._contexts_done + len(first)
        return _shares(cells, context, number, self._day[days], self._events[days])


def _shares(cells: CellsInOrder, context: Array, context_of_day: Array, day: Array, events: Array) -> Array:
    # One ascending key for the days of all contexts. A context's spans end before the days of the next.
    low, width = int(day.min()), int(day.max()) - int(day.min()) + 2
    key = context_of_day * width + (day.astype(np.int64) - low)
    chosen = np.flatnonzero((cells.feasible != 0) & (cells.live_from < cells.live_until))
    begin, end = (
        np.searchsorted(key, context[chosen] * width + np.clip(moment[chosen].astype(np.int64) - low, 0, width - 1))
        for moment in (cells.live_from, cells.live_until)
    )
    changes = np.bincount(begin, minlength=len(day) + 1) - np.bincount(end, minlength=len(day) + 1)
    each = np.append(events, 0) / np.maximum(np.cumsum(changes), 1)
    some = begin < end
    shares = np.zeros(len(context))
    if some.any():
        # A sum for each cell is exact to the rounding of its context's traffic; running sums over contexts are not.
        sums = np.add.reduceat(each, np.column_stack([begin, end])[some].ravel())[::2]
        shares[chosen[some]] = sums / cells.context_events[chosen[some]]
    return shares


def _first_of_contexts(context_cells: Array) -> NDArray[np.int64]:
    """Return the first cell of every context: within a run of contexts of one size, every so many cells."""
    run = np.flatnonzero(np.diff(context_cells, prepend=0))
    inside = np.arange(len(context_cells)) - np.repeat(run, np.diff(run, append=len(context_cells)))
    first: NDArray[np.int64] = np.flatnonzero(inside % context_cells == 0)
    return first
