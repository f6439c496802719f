"""Choosing every day uniformly among the feasible actions that are live, averaged over a context's traffic.

h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_xd,   k_xd = feasible actions of x live on d
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir
import numpy as np

from warmstart.core import DAY, PROBABILITY, WindowName, to_numpy
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.kernels import DailySweep, whole_contexts
from warmstart.policy.daily_traffic import CHANGED, ROW, orders
from warmstart.policy.feasible import feasible_cells, is_feasible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.kernels import Traffic

# Running sums are exact to about 1e-15 of a context's traffic; below this a probability is rounding.
ROUNDING = 1e-12
CELLS_AT_A_TIME, BYTES_A_CELL = 250_000, 50


def fits_here(cells: Cells) -> bool:
    """Tell whether this process may hold a few columns of the cells and their days."""
    room = cells.engine.room
    if not 0 < room < math.inf:
        return room > 0
    return bool(cells.totals["cells"] * BYTES_A_CELL <= room)


def swept_here(cells: Cells, feasible_from: WindowName) -> ir.Table:
    """Sweep in this process: the engine hands over days and counts in the order of the contexts, and no keys."""
    for ordered, traffic in orders(cells):
        result = _chosen(cells, ordered, traffic, feasible_from)
        if result is not None:
            h = cells.engine.open_columns(result)
            table = cells.table.mutate(**{ROW: cells.table.rowid()})
            return table.join(h, ROW).drop(ROW, "live_from", "live_until")
    raise CHANGED


def _chosen(
    cells: Cells, ordered: ir.Table, traffic: Traffic, feasible_from: WindowName
) -> dict[str, NDArray[Any]] | None:
    """Return the rows of the cells that are chosen, and how often; None if the traffic is not that of the contexts."""
    in_context = ordered.context_actions_all if "n_train" in ordered.columns else ordered.context_actions
    columns = ordered.select(
        ROW,
        context_cells=in_context.cast("int32"),
        context_events=ordered.context_n.cast("uint32"),
        feasible=is_feasible(ordered, feasible_from).cast("int8"),
        live_from=ordered.live_from.cast("int32"),
        live_until=ordered.live_until.cast("int32"),
    )
    sweep = DailySweep(traffic)
    rows, shares = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    batches = cells.engine.stream(columns, CELLS_AT_A_TIME)
    for block in whole_contexts([to_numpy(column) for column in batch.columns] for batch in batches):
        of_block = sweep.shares(block)
        if of_block is None:
            return None
        chosen = of_block > ROUNDING
        rows.append(block.row[chosen])
        shares.append(of_block[chosen])
    return {ROW: np.concatenate(rows), PROBABILITY: np.concatenate(shares)} if sweep.is_done else None


def swept_in_engine(cells: Cells, feasible_from: WindowName) -> ir.Table:
    """Sweep where the cells are, by running sums.

    Along the days of a context, k changes only where an action starts or stops, so running sums over
    (traffic days + starts + stops) give every h(a|x); context-days x actions is never formed. Days before and after the
    window have no traffic, so spans are cut to it, and actions with the same span share their h.
    """
    feasible, traffic = feasible_cells(cells, feasible_from), cells.daily_traffic
    contexts = list(cells.columns.context_keys)
    span = [*contexts, "live_from", "live_until"]
    feasible = feasible.filter(feasible.live_from < feasible.live_until)
    spans = feasible.group_by(*span).agg(actions=feasible.count().cast("float64"))
    none = float_literal(0)
    changes = ibis.union(
        spans.select(*contexts, **{DAY: spans.live_from}, change=spans.actions, n=none),
        spans.select(*contexts, **{DAY: spans.live_until}, change=-spans.actions, n=none),
        traffic.select(*contexts, DAY, change=none, n=traffic.n),
        distinct=False,
    )
    days = changes.group_by(*contexts, DAY).agg(change=changes.change.sum(), n=changes.n.sum())
    until_today = ibis.window(group_by=contexts, order_by=DAY, preceding=None, following=0)
    days = days.mutate(live_actions=days.change.sum().over(until_today))
    days = days.mutate(each=ibis.ifelse(days.live_actions > 0.5, days.n / days.live_actions.nullif(0.0), 0.0))
    days = days.select(*contexts, DAY, earlier=days.each.sum().over(until_today) - days.each)
    # One join for both ends: of two, the optimiser may do both by context alone, which multiplies days by days.
    ends = ibis.union(
        spans.select(*span, **{DAY: spans.live_from}, sign=-float_literal(1)),
        spans.select(*span, **{DAY: spans.live_until}, sign=float_literal(1)),
        distinct=False,
    ).join(days, [*contexts, DAY])
    shares = ends.group_by(*span).agg(traffic=(ends.sign * ends.earlier).sum())
    chosen = feasible.join(shares, span)
    chosen = chosen.mutate(**{PROBABILITY: chosen.traffic / chosen.context_n})
    return chosen.filter(chosen[PROBABILITY] > ROUNDING)
