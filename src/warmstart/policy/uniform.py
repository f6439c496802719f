"""The policy that chooses at random among feasible actions: the paper's Random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import DAY, PROBABILITY, WindowName
from warmstart.engine import float_literal
from warmstart.policy.feasible import feasible_cells, feasible_count
from warmstart.policy.policy import Policy

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

# Running sums are exact to about 1e-15 of a context's traffic; below this a probability is rounding.
ROUNDING = 1e-12


def uniform_policy(cells: Cells, *, feasible_from: WindowName, live: bool, name: str = "uniform") -> Policy:
    """Choose uniformly among the feasible actions, or among those of them live on the day."""
    feasible = feasible_cells(cells, feasible_from)
    contexts = list(cells.columns.context_keys)
    if live:
        table = _daily_uniform(feasible, cells.daily_traffic, contexts)
    else:
        table = feasible.mutate(**{PROBABILITY: 1.0 / feasible_count(feasible, feasible_from)})
    return Policy(name, table, seated=True, held=live)


def _daily_uniform(feasible: ir.Table, traffic: ir.Table, contexts: list[str]) -> ir.Table:
    """Average the daily choice over a context's traffic.

        h(a|x) = (1 / n_x) * sum over days d with a live of n_xd / k_xd,   k_xd = feasible actions of x live on d

    Along the days of a context, k changes only where an action starts or stops, so running sums over
    (traffic days + starts + stops) give every h(a|x); context-days x actions is never formed. Days before and after the
    window have no traffic, so spans are cut to it, and actions with the same span share their h.
    """
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
