"""The policy that chooses at random among feasible actions: the paper's Random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import ACTION, DAY, PROBABILITY, WindowName
from warmstart.engine import float_literal
from warmstart.policy.feasible import feasible_cells, feasible_count, live_spans
from warmstart.policy.policy import Policy

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

# Running sums are exact to about 1e-15 of a context's traffic; below this a probability is rounding.
ROUNDING = 1e-12


def uniform_policy(cells: Cells, *, feasible_from: WindowName, live: bool, name: str = "uniform") -> Policy:
    """Choose uniformly among the feasible actions, or among those of them live on the day."""
    feasible = feasible_cells(cells, feasible_from)
    if live:
        spanned = feasible.join(live_spans(cells), ACTION)
        table = _daily_uniform(spanned, cells.daily_traffic, list(cells.columns.context_keys))
    else:
        table = feasible.mutate(**{PROBABILITY: 1.0 / feasible_count(feasible, feasible_from)})
    return Policy(name, table, seated=True, held=live)


def _daily_uniform(feasible: ir.Table, traffic: ir.Table, contexts: list[str]) -> ir.Table:
    """Average the daily choice over a context's traffic.

        h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_xd,   k_xd = feasible actions of x live on d

    Along the days of a context, k changes only where an action starts or stops, so running sums over
    (traffic days + starts + stops) give every h(a|x); context-days x actions is never formed.
    """
    none, one = float_literal(0), float_literal(1)
    changes = ibis.union(
        feasible.select(*contexts, **{DAY: feasible.start}, change=one, n=none),
        feasible.select(*contexts, **{DAY: feasible.stop}, change=-one, n=none),
        traffic.select(*contexts, DAY, change=none, n=traffic.n),
        distinct=False,
    )
    days = changes.group_by(*contexts, DAY).agg(change=changes.change.sum(), n=changes.n.sum())
    until_today = ibis.window(group_by=contexts, order_by=DAY, preceding=None, following=0)
    days = days.mutate(live_actions=days.change.sum().over(until_today))
    days = days.mutate(each=ibis.ifelse(days.live_actions > 0.5, days.n / days.live_actions.nullif(0.0), 0.0))
    days = days.mutate(earlier=days.each.sum().over(until_today) - days.each)
    at_start = days.select(*contexts, start=days[DAY], before_start=days.earlier)
    at_stop = days.select(*contexts, stop=days[DAY], before_stop=days.earlier)
    spanned = feasible.join(at_start, [*contexts, "start"]).join(at_stop, [*contexts, "stop"])
    share = (spanned.before_stop - spanned.before_start) / spanned.context_n
    chosen = spanned.mutate(**{PROBABILITY: share})
    return chosen.filter(chosen[PROBABILITY] > ROUNDING)
