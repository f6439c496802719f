"""Daily-uniform probabilities: sweep over the days of every context, counting the feasible actions that are live."""

from __future__ import annotations

import numpy as np

from warmstart.kernels.compiled import Array, compiled_as_written


@compiled_as_written
def first_since(wanted: int, day: Array, begin: int, end: int) -> int:
    """Return the first of the ascending days begin, ..., end - 1 that is not before a day; end if there is none."""
    if begin == end or wanted <= day[begin]:
        return begin
    if wanted > day[end - 1]:
        return end
    while begin < end:
        middle = (begin + end) // 2
        if day[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled_as_written
def daily_shares(
    context_cells: Array,
    context_events: Array,
    feasible: Array,
    live_from: Array,
    live_until: Array,
    day: Array,
    events: Array,
    shares: Array,
) -> bool:
    """Write h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_xd; k_xd: feasible actions live on d.

    The first five arrays have an entry for every cell, the cells of a context together; ``context_cells`` and
    ``context_events`` repeat the size of the context. ``day, events`` are the traffic: contexts in the same order, days
    ascending. Returns False if the traffic is not that of the contexts.
    """
    first_cell, first_day = 0, 0
    while first_cell < context_cells.shape[0]:
        last_cell = first_cell + context_cells[first_cell]
        total, last_day = 0, first_day
        while total < context_events[first_cell] and last_day < day.shape[0]:
            total += events[last_day]
            last_day += 1
        if total != context_events[first_cell]:
            return False
        change = np.zeros(last_day - first_day + 1, np.int64)
        for i in range(first_cell, last_cell):
            if feasible[i] and live_from[i] < live_until[i]:
                change[first_since(live_from[i], day, first_day, last_day) - first_day] += 1
                change[first_since(live_until[i], day, first_day, last_day) - first_day] -= 1
        earlier = np.zeros(last_day - first_day + 1, np.float64)
        live = 0
        for d in range(last_day - first_day):
            live += change[d]
            earlier[d + 1] = earlier[d] + (events[first_day + d] / live if live > 0 else 0.0)
        for i in range(first_cell, last_cell):
            shares[i] = 0.0
            if feasible[i] and live_from[i] < live_until[i]:
                begin = first_since(live_from[i], day, first_day, last_day) - first_day
                end = first_since(live_until[i], day, first_day, last_day) - first_day
                shares[i] = (earlier[end] - earlier[begin]) / total
        first_cell, first_day = last_cell, last_day
    return bool(first_day == day.shape[0])
