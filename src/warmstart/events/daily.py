"""Daily cells: events by (context, action, day), and the shares of actions on the context's next day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import ibis
import ibis.expr.types as ir

from warmstart.core import DAY, MICROSECONDS_PER_DAY, REWARD, TIME
from warmstart.events.cells import Cells, check_sums, shown_actions, with_context_sums
from warmstart.events.epochs import day_of
from warmstart.events.window import Events


@dataclass(frozen=True)
class DailyCells:
    """Cells and the daily sums that they are made of, kept in the engine.

    ``days``: a row for every (context, action, day): ``n, reward_sum, reward_sq_sum``; ``day_n``, the events of the
    context that day; ``next_day``, the context's next day with events, and ``next_share``, the action's share of it,
    both null on its last day; ``again``, whether the action has another day in the context. ``traffic``: a row for each
    (context, day): ``n``; ``actions``, how many; ``same``, the sum of n * (n - 1) over actions; ``next_day, next_n``.
    """

    cells: Cells
    days: ir.Table
    traffic: ir.Table


@contextmanager
def open_daily_cells(events: Events) -> Iterator[DailyCells]:
    """Sum a window's events into daily cells and cells, which are released on leaving."""
    with ExitStack() as resources:

        def materialised(rows: ir.Table) -> ir.Table:
            table = engine.materialise(rows)
            resources.callback(table.release)
            return table

        engine, summed = events.engine.collect(_by_day(events))
        try:
            check_sums(engine, summed, events)
            traffic = materialised(_traffic(summed, events))
            days = materialised(_with_next_day(summed, traffic, events))
        finally:
            summed.release()
        over_days = _over_days(days, events)
        cells = materialised(with_context_sums(over_days, events, shown_actions(over_days, events, None, resources)))
        yield DailyCells(Cells(engine, events, None, cells, traffic), days, traffic)


def _by_day(events: Events) -> ir.Table:
    table = events.table
    reward = table[REWARD]
    return table.group_by(**{key: table[key] for key in events.columns.keys}, day=day_of(table[TIME])).agg(
        n=table.count().cast("float64"), reward_sum=reward.sum(), reward_sq_sum=(reward * reward).sum()
    )


def _traffic(days: ir.Table, events: Events) -> ir.Table:
    contexts = list(events.columns.context_keys)
    traffic = days.group_by(*contexts, DAY).agg(
        n=days.n.sum(), actions=days.count().cast("float64"), same=(days.n * (days.n - 1.0)).sum()
    )
    along = ibis.window(group_by=contexts, order_by=DAY)
    return traffic.mutate(next_day=traffic[DAY].lead().over(along), next_n=traffic.n.lead().over(along))


def _with_next_day(days: ir.Table, traffic: ir.Table, events: Events) -> ir.Table:
    contexts, keys = list(events.columns.context_keys), list(events.columns.keys)
    joined = days.join(traffic.select(*contexts, DAY, "next_day", "next_n", day_n=traffic.n), [*contexts, DAY])
    again = ibis.window(group_by=keys, order_by=DAY)
    joined = joined.mutate(
        again_day=joined[DAY].lead().over(again),
        again_n=joined.n.lead().over(again),
        before_day=joined[DAY].lag().over(again),
    )
    shown_again = (joined.again_day == joined.next_day).fill_null(False)
    share = joined.next_day.isnull().ifelse(None, shown_again.ifelse(joined.again_n / joined.next_n, 0.0))
    other_day = joined.again_day.notnull() | joined.before_day.notnull()
    names = ("n", "reward_sum", "reward_sq_sum", "day_n", "next_day")
    return joined.select(*keys, DAY, *names, next_share=share, again=other_day)


def _over_days(days: ir.Table, events: Events) -> ir.Table:
    sums = {name: days[name].sum() for name in ("n", "reward_sum", "reward_sq_sum")}
    first, last = days[DAY].min() * MICROSECONDS_PER_DAY, days[DAY].max() * MICROSECONDS_PER_DAY
    return days.group_by(*events.columns.keys).agg(**sums, first_time=first, last_time=last)
