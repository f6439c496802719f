"""Policies that choose anew in every epoch, among the actions of that epoch; later epochs have no say.

An action is live in an epoch if it was shown in it, in any context. It is feasible in a context from the first epoch on
in which it was shown there; from the beginning, if training showed it there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, EPOCH, PROBABILITY, UsageError, WindowName
from warmstart.engine import float_literal
from warmstart.policy.feasible import is_feasible
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.ranking_store import RANK

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Strata

SINCE = "since"


def uniform_by_epoch(strata: Strata, *, feasible_from: WindowName, live: bool, name: str) -> PolicyTable:
    """Choose uniformly among the actions that are feasible in the context by then, or those of them live."""
    contexts = list(strata.cells.columns.context_keys)
    feasible = _feasible(strata, feasible_from)
    now = feasible.join(strata.traffic.select(*contexts, EPOCH), contexts)
    now = now.filter(now[SINCE].isnull() | (now[SINCE] <= now[EPOCH])).select(*contexts, ACTION, EPOCH)
    now = now.semi_join(_live(strata), [ACTION, EPOCH]) if live else now
    whole = ibis.window(group_by=[*contexts, EPOCH])
    table = now.mutate(**{PROBABILITY: float_literal(1) / now[ACTION].count().over(whole).cast("float64")})
    return PolicyTable(name, table, whole=True)


def uniform_all_by_epoch(strata: Strata, *, live: bool, name: str, most: int) -> PolicyTable:
    """Choose uniformly among all actions that are live, or that were shown by then, in the context or not."""
    contexts, engine = list(strata.cells.columns.context_keys), strata.cells.engine
    actions, numbers = _live(strata), strata.table.select(EPOCH).distinct()
    if not live:
        first = actions.group_by(ACTION).agg(**{SINCE: actions[EPOCH].min()})
        actions = first.join(numbers, first[SINCE] <= numbers[EPOCH]).select(ACTION, EPOCH)
    sizes = actions.group_by(EPOCH).agg(actions=actions.count())
    places = strata.traffic.group_by(EPOCH).agg(contexts=strata.traffic.count())
    both = sizes.join(places, EPOCH)
    rows = engine.fetch(both.agg(rows=(both.actions * both.contexts).sum()))[0]["rows"]
    if rows > most:
        raise UsageError(
            f"'uniform-all' over all actions, contexts and epochs is a table of {rows:,} rows, which is too large.",
            "Evaluate a shorter window or coarser contexts, or 'uniform': only the actions feasible in a context.",
        )
    pairs = strata.traffic.select(*contexts, EPOCH).join(actions, EPOCH).join(sizes, EPOCH)
    probability = float_literal(1) / pairs.actions.cast("float64")
    return PolicyTable(name, pairs.select(*contexts, ACTION, EPOCH, **{PROBABILITY: probability}), whole=True)


def ranked_by_epoch(strata: Strata, rows: ir.Table, *, name: str) -> PolicyTable:
    """Take the action of the lowest rank among those that are live.

    Args:
        strata: The events by context, action and epoch.
        rows: The context columns, the action, and its rank.
        name: Of the policy.
    """
    contexts = list(strata.cells.columns.context_keys)
    now = rows.join(strata.traffic.select(*contexts, EPOCH), contexts).semi_join(_live(strata), [ACTION, EPOCH])
    first = now.group_by(*contexts, EPOCH).agg(**{RANK: now[RANK].min()})
    chosen = now.join(first, [*contexts, EPOCH, RANK])
    return PolicyTable(name, chosen.select(*contexts, ACTION, EPOCH, **{PROBABILITY: float_literal(1)}), whole=True)


def _live(strata: Strata) -> ir.Table:
    return strata.table.select(ACTION, EPOCH).distinct()


def _feasible(strata: Strata, window: WindowName) -> ir.Table:
    """Return the feasible actions of contexts and the epoch since when they are; null: from the beginning."""
    keys, cells = list(strata.cells.columns.keys), strata.cells.table
    shown = strata.table.group_by(*keys).agg(**{SINCE: strata.table[EPOCH].min()})
    if window == "evaluated" or strata.cells.train is None:
        return shown
    trained = cells.filter(is_feasible(cells, "train")).select(*keys)
    since = trained.mutate(**{SINCE: ibis.null(shown[SINCE].type())})
    if window == "train":
        return since
    return ibis.union(since, shown.anti_join(trained, keys), distinct=False)
