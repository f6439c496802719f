"""Uniform policies: among the feasible actions of a context (the paper's Random), or among all actions."""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from warmstart.core import ACTION, DAY, PROBABILITY, UsageError, WindowName
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.policy.daily_uniform import fits_here, swept_here, swept_in_engine
from warmstart.policy.feasible import feasible_cells, feasible_count
from warmstart.policy.policy_table import PolicyTable

MOST_ROWS = 20_000_000
SPAN = ("live_from", "live_until")


def uniform_policy(cells: Cells, *, feasible_from: WindowName, live: bool, name: str = "uniform") -> PolicyTable:
    """Choose uniformly among the feasible actions, or among those of them live on the day."""
    if not live:
        feasible = feasible_cells(cells, feasible_from)
        table = feasible.mutate(**{PROBABILITY: 1.0 / feasible_count(feasible, feasible_from)})
    elif cells.evaluated.units is None and fits_here(cells):
        table = swept_here(cells, feasible_from)
    else:
        table = swept_in_engine(cells, feasible_from)
    # What the evaluated window shows is live when it is shown: every day of a context has something to choose.
    whole = not live or feasible_from != "train"
    return PolicyTable(name, table, seated=True, costly=live, whole=whole)


def uniform_all_policy(cells: Cells, *, live: bool, name: str = "uniform-all") -> PolicyTable:
    """Choose uniformly among all actions live on the day, shown in the context or not.

    h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_d,   k_d = actions live on d

    Without days, among all actions that the evaluated window shows: h(a|x) = 1 / k.
    """
    actions = _live_spans(cells) if live else _shown(cells)
    contexts = cells.contexts.select(*cells.columns.context_keys, "context_n")
    sizes = [cells.engine.fetch(table.agg(rows=table.count()))[0]["rows"] for table in (contexts, actions)]
    if sizes[0] * sizes[1] > MOST_ROWS:
        raise UsageError(
            f"'uniform-all' over {sizes[1]:,} actions in {sizes[0]:,} contexts is too large a table.",
            "Evaluate a shorter window or coarser contexts, or 'uniform': only the actions feasible in a context.",
        )
    if not live:
        pairs = contexts.drop("context_n").cross_join(actions)
        return PolicyTable(name, pairs.mutate(**{PROBABILITY: float_literal(1) / max(sizes[1], 1)}))
    keys = list(cells.columns.context_keys)
    spans = actions.select(*SPAN).distinct()
    daily = _share_by_day(cells, actions)
    alive = daily.join(spans, [spans.live_from <= daily[DAY], daily[DAY] < spans.live_until])
    shares = alive.group_by(*keys, *SPAN).agg(share=alive.share.sum())
    table = shares.join(actions, list(SPAN)).join(contexts, keys)
    return PolicyTable(name, table.select(*keys, ACTION, **{PROBABILITY: table.share / table.context_n}))


def uniform_all_where_shown(cells: Cells, *, live: bool) -> PolicyTable:
    """Return ``uniform-all`` with one row, of no action, for all that a context was not shown: for sums it is the same.

    So a context that occurs once has two rows, and not one for every action.
    """
    keys = list(cells.columns.context_keys)
    shown = cells.table.filter(cells.table.n > 0)
    if live:
        shown = shown.select(*keys, ACTION, *SPAN, "context_n")
        daily = _share_by_day(cells, _live_spans(cells))
        alive = shown.join(daily, [*keys, shown.live_from <= daily[DAY], daily[DAY] < shown.live_until])
        chosen = alive.group_by(*keys, ACTION).agg(**{PROBABILITY: (alive.share / alive.context_n).sum()})
    else:
        kinds = cells.engine.fetch(_shown(cells).agg(kinds=_shown(cells).count()))[0]["kinds"]
        chosen = shown.select(*keys, ACTION, **{PROBABILITY: float_literal(1) / max(kinds, 1)})
    others = ibis.greatest(1.0 - chosen[PROBABILITY].sum(), float_literal(0))
    rest = chosen.group_by(*keys).agg(**{PROBABILITY: others})
    rest = rest.select(*keys, **{ACTION: ibis.null(chosen[ACTION].type()), PROBABILITY: rest[PROBABILITY]})
    return PolicyTable("uniform-all", ibis.union(chosen, rest))


def _shown(cells: Cells) -> ir.Table:
    """Return the actions of the evaluated window."""
    return cells.table.filter(cells.table.n > 0).select(ACTION).distinct()


def _live_spans(cells: Cells) -> ir.Table:
    """Return the actions that are live on a day of the evaluated window, from when until when (exclusive)."""
    table = cells.table.filter(cells.table.live_from < cells.table.live_until)
    return table.select(ACTION, *SPAN).distinct()


def _share_by_day(cells: Cells, actions: ir.Table) -> ir.Table:
    """Return the traffic of every context and day divided by the actions live that day, as a column ``share``."""
    traffic = cells.daily_traffic
    days = traffic.select(DAY).distinct()
    spans = actions.group_by(*SPAN).agg(actions=actions.count().cast("float64"))
    alive = days.join(spans, [spans.live_from <= days[DAY], days[DAY] < spans.live_until])
    counts = alive.group_by(DAY).agg(live_actions=alive.actions.sum())
    daily = traffic.join(counts, DAY)
    return daily.select(*cells.columns.context_keys, DAY, share=daily.n / daily.live_actions)
