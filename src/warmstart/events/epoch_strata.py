"""Strata by epoch, each context with what was known of it before the epoch began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import ibis
import numpy as np

from warmstart.core import EPOCH, TIME, UsageError
from warmstart.engine import float_literal
from warmstart.events.epoch_history import N_BEFORE, RATE_BEFORE, REWARD_SUM_BEFORE, EpochHistory
from warmstart.events.epochs import COLUMN, EpochList, epoch_label
from warmstart.events.strata import Strata, open_strata, traffic_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import ibis.expr.types as ir

    from warmstart.events.cells import Cells

# What is known of rewards is told apart by context if the first epoch has so many events of one, on average.
ENOUGH_PER_CONTEXT = 5.0
# An epoch of a column by its place in time: a column of its own until the epochs have numbers.
NUMBER, LABEL, OVERLAPS = "number", "label", "overlaps"


@contextmanager
def open_epoch_strata(cells: Cells, rate: float | None) -> Iterator[Strata]:
    """Sum the evaluated events by context, action and epoch; released on leaving.

    Their ``history`` adds to rows what they share with their context in the epoch, and what was known of it before.
    Epochs are in the order of their first events. What is known before one is what earlier ones and the training window
    tell, if the mean reward of this, ``rate``, is known and rewards differed there.
    """
    epochs = cells.evaluated.log.epochs
    if epochs is None:
        raise UsageError("The log was read without epochs.", "Name them: epoch=... (--epoch).")
    if epochs.kind == COLUMN and cells.columns.time is None:
        raise UsageError("Without times nobody knows which epoch came first.", "Name a time column: time=... (--time).")
    with ExitStack() as resources:

        def keep(rows: ir.Table) -> ir.Table:
            table = cells.engine.materialise(rows)
            resources.callback(table.release)
            return table

        strata = resources.enter_context(open_strata(cells, folds=None, epoch=epochs.kind))
        if epochs.kind == COLUMN:
            numbers = _numbers(cells, resources)
            table = keep(numbered(strata.table, numbers))
            strata = replace(strata, table=table, traffic=traffic_of(table, cells, strata.by), numbers=numbers)
        history = _history(strata, rate, keep)
        yield replace(strata, history=history, epochs=_listed(strata, history, epochs.kind))


def _numbers(cells: Cells, resources: ExitStack) -> ir.Table:
    """Number the epochs of a column in the order of their first events."""
    events = cells.evaluated.table
    first = events.group_by(**{LABEL: events[EPOCH]}).agg(first=events[TIME].min(), last=events[TIME].max())
    _, held = cells.evaluated.engine.collect(first)
    resources.callback(held.release)
    number = ibis.row_number().over(order_by=[held["first"], held[LABEL]]).cast("int64")
    following = held["first"].lead().over(order_by=[held["first"], held[LABEL]])
    overlaps = (following < held["last"]).fill_null(False)
    numbers = cells.engine.materialise(held.select(LABEL, **{NUMBER: number, OVERLAPS: overlaps}))
    resources.callback(numbers.release)
    return numbers


def numbered(table: ir.Table, numbers: ir.Table) -> ir.Table:
    """Put the numbers of epochs in the place of a column's values."""
    others = [name for name in table.columns if name != EPOCH]
    joined = table.join(numbers, table[EPOCH] == numbers[LABEL])
    return joined.select(*others, **{EPOCH: joined[NUMBER]})


def _listed(strata: Strata, history: EpochHistory, kind: str) -> EpochList:
    engine, table = strata.cells.engine, strata.table
    sums = table.group_by(EPOCH).agg(n=table.n.sum()).join(history.rates, EPOCH)
    rows = engine.fetch(sums.order_by(EPOCH))
    numbers = np.array([row[EPOCH] for row in rows], dtype=np.int64)
    apart = True
    if strata.numbers is None:
        labels = tuple(epoch_label(kind, int(number)) for number in numbers)
    else:
        listed = engine.fetch(strata.numbers)
        names, apart = {row[NUMBER]: str(row[LABEL]) for row in listed}, not any(row[OVERLAPS] for row in listed)
        labels = tuple(names[int(number)] for number in numbers)
    known = np.array([row[RATE_BEFORE] is not None for row in rows])
    return EpochList(numbers, labels, np.array([row["n"] for row in rows], dtype=np.float64), known, apart)


def _history(strata: Strata, rate: float | None, keep: Callable[[ir.Table], ir.Table]) -> EpochHistory:
    """Return what rows share with their context in the epoch, and what was known before.

    Of a context that comes rarely there is little to know: all contexts then share what is known of rewards.
    """
    cells, traffic = strata.cells, strata.traffic
    # Rewards that never differed, all 0 or all 1, say nothing: so rewards and their lack are treated alike.
    trained = cells.train.total if rate is not None and 0 < rate < 1 and cells.train is not None else 0.0
    if _events_per_context(cells, strata.table) >= ENOUGH_PER_CONTEXT:
        traffic = _with_context_history(cells, traffic, trained=trained > 0)
    else:
        traffic = traffic.filter(traffic.context_actions > 1)
    rates = keep(_rates(strata.table, trained, (rate or 0.0) * trained))
    return EpochHistory(cells.columns.context_keys, keep(traffic), rates)


def _events_per_context(cells: Cells, table: ir.Table) -> float:
    """Return how many events a context has in the first epoch, on average."""
    first = table.filter(table[EPOCH] == table[EPOCH].min())
    contexts = first.group_by(*cells.columns.context_keys).agg(n=first.n.sum())
    return float(cells.engine.fetch(contexts.agg(mean=contexts.n.mean()))[0]["mean"])


def _with_context_history(cells: Cells, traffic: ir.Table, *, trained: bool) -> ir.Table:
    """Add sums over the context's earlier epochs, and its training if that has a say."""
    contexts = list(cells.columns.context_keys)
    until_now = ibis.window(group_by=contexts, order_by=EPOCH, preceding=None, following=0)
    sums = {N_BEFORE: traffic.context_n, REWARD_SUM_BEFORE: traffic.context_reward_sum}
    rows = traffic.mutate(**{name: value.sum().over(until_now) - value for name, value in sums.items()})
    if not trained:
        return rows
    known = cells.contexts.select(*contexts, "context_n_train", "context_reward_sum_train")
    joined = rows.left_join(known, contexts)
    more = {
        N_BEFORE: joined[N_BEFORE] + joined.context_n_train.coalesce(0.0),
        REWARD_SUM_BEFORE: joined[REWARD_SUM_BEFORE] + joined.context_reward_sum_train.coalesce(0.0),
    }
    return joined.select(*(name for name in rows.columns if name not in sums), **more)


def _rates(table: ir.Table, trained: float, rewards: float) -> ir.Table:
    """Return the mean reward before each epoch, half an event of either kind added, so that it is never 0 or 1."""
    sums = table.group_by(EPOCH).agg(n=table.n.sum(), r=table.reward_sum.sum())
    until_now = ibis.window(order_by=EPOCH, preceding=None, following=0)
    n = sums.n.sum().over(until_now) - sums.n + float_literal(trained)
    r = sums.r.sum().over(until_now) - sums.r + float_literal(rewards)
    return sums.select(EPOCH, **{RATE_BEFORE: (n > 0.5).ifelse((r + 0.5) / (n + 1.0), None)})
