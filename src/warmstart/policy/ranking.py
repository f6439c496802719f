"""A policy that ranks the actions of a context and takes the best one, or the best one that is live on the day."""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from warmstart.core import ACTION, DAY, MICROSECONDS_PER_DAY, PROBABILITY
from warmstart.engine import float_literal
from warmstart.events import Cells, Strata
from warmstart.policy.by_epoch import ranked_by_epoch
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.ranking_store import RANK, RankingStore
from warmstart.policy.unseen import BestOfKnown


def ranked_policy(
    cells: Cells,
    ranking: RankingStore,
    *,
    live: bool,
    name: str,
    strata: Strata | None = None,
    unseen: BestOfKnown | None = None,
) -> PolicyTable:
    """Return the policy that takes the first action of a ranking; or, with ``live``, every day the first that is live.

    ``h(a|x) = share of x's traffic in the window on which a is the best feasible action live that day``. With strata by
    epoch it is the first that is live in the epoch. A context that the ranking lacks is undecided without ``unseen``.

    Args:
        cells: The cells of the windows.
        ranking: Of the actions of every context.
        live: Whether an action must be live to be chosen.
        name: Of the policy.
        strata: The events by epoch, if propensities are counted within epochs.
        unseen: Chooses in contexts that the ranking lacks.
    """
    given = cells.columns.fixed_to_given
    table = ranking.opened(cells.engine)
    place = {name: i for i, name in enumerate([*(given[key] for key in cells.columns.keys), RANK])}
    keys = {key: table[place[given[key]]].cast(cells.table[key].type()) for key in cells.columns.keys}
    rows = table.select(**keys, rank=table[place[RANK]].cast("int64"))
    if unseen is not None:
        more = unseen.choices(cells, rows, strata)
        rows = ibis.union(rows, more.mutate(rank=ibis.literal(1, "int64")), distinct=False)
    if not live:
        first = rows.filter(rows[RANK] == 1)
        return PolicyTable(name, first.select(*cells.columns.keys, **{PROBABILITY: float_literal(1)}))
    return PolicyTable(name, _daily(cells, rows)) if strata is None else ranked_by_epoch(strata, rows, name=name)


def _daily(cells: Cells, rows: ir.Table) -> ir.Table:
    contexts = list(cells.columns.context_keys)
    spans = cells.table.group_by(ACTION).agg(
        live_from=cells.table.live_from.min(), live_until=cells.table.live_until.max()
    )
    rows = rows.join(spans, ACTION)
    rows = rows.filter(rows.live_from < rows.live_until)
    window = cells.evaluated.window
    first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
    # What ranks behind an action that is live all window is never chosen.
    always = rows.filter((rows.live_from <= first) & (rows.live_until > last))
    enough = always.group_by(*contexts).agg(enough=always[RANK].min())
    rows = rows.left_join(enough, contexts).drop(*(f"{name}_right" for name in contexts))
    rows = rows.filter(rows[RANK] <= rows.enough.coalesce(rows[RANK]))
    days = rows.join(cells.daily_traffic, contexts)
    days = days.filter((days.live_from <= days[DAY]) & (days[DAY] < days.live_until))
    best = days.group_by(*contexts, DAY).agg(rank=days[RANK].min(), n=days.n.max())
    shares = best.group_by(*contexts, RANK).agg(traffic=best.n.sum())
    chosen = shares.join(rows.select(*contexts, ACTION, RANK), [*contexts, RANK])
    chosen = chosen.join(cells.contexts.select(*contexts, "context_n"), contexts)
    probability = ibis.least(chosen.traffic / chosen.context_n, float_literal(1))
    return chosen.select(*contexts, ACTION, **{PROBABILITY: probability})
