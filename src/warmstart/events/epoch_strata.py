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
from warmstart.events.epochs import COLUMN, EpochList, epoch_label
from warmstart.events.strata import Strata, open_strata

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.events.cells import Cells

# Columns of traffic by context and epoch: the context's events and rewards before the epoch, and the mean reward of all
# contexts before it; null where there was nothing before.
N_BEFORE, REWARD_SUM_BEFORE, RATE_BEFORE = "context_n_before", "context_reward_sum_before", "rate_before"
# An epoch of a column by its place in time: a column of its own until the epochs have numbers.
NUMBER, LABEL = "number", "label"


@contextmanager
def open_epoch_strata(cells: Cells, rate: float | None) -> Iterator[Strata]:
    """Sum the evaluated events by context, action and epoch; released on leaving.

    Epochs are in the order of their first events. What is known before one is what earlier ones and the training window
    tell, if the mean reward of this, ``rate``, is known and rewards differed there.
    """
    epochs = cells.evaluated.log.epochs
    if epochs is None:
        raise UsageError("The log was read without epochs.", "Name them: epoch=... (--epoch).")
    if epochs.kind == "auto":
        raise UsageError(
            "Counts need epochs that were fixed before these events: epoch='auto' would look at them.",
            "Name hour, day, week or a column; 'warmstart audit' of earlier events recommends one.",
        )
    if epochs.kind == COLUMN and cells.columns.time is None:
        raise UsageError("Without times nobody knows which epoch came first.", "Name a time column: time=... (--time).")
    with open_strata(cells, folds=None, epoch=epochs.kind) as found, ExitStack() as resources:

        def keep(rows: ir.Table) -> ir.Table:
            table = cells.engine.materialise(rows)
            resources.callback(table.release)
            return table

        strata = found
        if epochs.kind == COLUMN:
            numbers = _numbers(cells, resources)
            table, traffic = (numbered(part, numbers) for part in (found.table, found.traffic))
            strata = replace(found, table=keep(table), traffic=traffic, numbers=numbers)
        listed = _listed(cells.engine, strata, epochs.kind)
        yield replace(strata, traffic=keep(_with_history(strata, rate)), epochs=listed)


def _numbers(cells: Cells, resources: ExitStack) -> ir.Table:
    """Number the epochs of a column in the order of their first events."""
    events = cells.evaluated.table
    first = events.group_by(**{LABEL: events[EPOCH]}).agg(first=events[TIME].min())
    _, held = cells.evaluated.engine.collect(first)
    resources.callback(held.release)
    number = ibis.row_number().over(order_by=[held["first"], held[LABEL]]).cast("int64")
    numbers = cells.engine.materialise(held.select(LABEL, **{NUMBER: number}))
    resources.callback(numbers.release)
    return numbers


def numbered(table: ir.Table, numbers: ir.Table) -> ir.Table:
    """Put the numbers of epochs in the place of a column's values."""
    others = [name for name in table.columns if name != EPOCH]
    joined = table.join(numbers, table[EPOCH] == numbers[LABEL])
    return joined.select(*others, **{EPOCH: joined[NUMBER]})


def _listed(engine: LocalEngine, strata: Strata, kind: str) -> EpochList:
    traffic = strata.traffic
    rows = engine.fetch(traffic.group_by(EPOCH).agg(n=traffic.context_n.sum()).order_by(EPOCH))
    numbers = np.array([row[EPOCH] for row in rows], dtype=np.int64)
    if strata.numbers is None:
        labels = tuple(epoch_label(kind, int(number)) for number in numbers)
    else:
        names = {row[NUMBER]: str(row[LABEL]) for row in engine.fetch(strata.numbers)}
        labels = tuple(names[int(number)] for number in numbers)
    return EpochList(numbers, labels, np.array([row["n"] for row in rows], dtype=np.float64))


def _with_history(strata: Strata, rate: float | None) -> ir.Table:
    cells, traffic = strata.cells, strata.traffic
    contexts = list(cells.columns.context_keys)
    until_now = ibis.window(group_by=contexts, order_by=EPOCH, preceding=None, following=0)
    before = {
        N_BEFORE: traffic.context_n.sum().over(until_now) - traffic.context_n,
        REWARD_SUM_BEFORE: traffic.context_reward_sum.sum().over(until_now) - traffic.context_reward_sum,
    }
    table = traffic.mutate(**before)
    trained = 0.0
    # Rewards that never differed, all 0 or all 1, say nothing: so rewards and their lack are treated alike.
    if rate is not None and 0 < rate < 1 and cells.train is not None:
        trained = cells.train.total
        known = cells.contexts.select(*contexts, "context_n_train", "context_reward_sum_train")
        joined = table.left_join(known, contexts)
        table = joined.select(
            *traffic.columns,
            **{
                N_BEFORE: joined[N_BEFORE] + joined.context_n_train.coalesce(0.0),
                REWARD_SUM_BEFORE: joined[REWARD_SUM_BEFORE] + joined.context_reward_sum_train.coalesce(0.0),
            },
        )
    return _with_rates(table, trained, (rate or 0.0) * trained)


def _with_rates(traffic: ir.Table, trained: float, rewards: float) -> ir.Table:
    """Add the mean reward before each epoch, half an event of either kind added, so that it is never 0 or 1."""
    sums = traffic.group_by(EPOCH).agg(n=traffic.context_n.sum(), r=traffic.context_reward_sum.sum())
    until_now = ibis.window(order_by=EPOCH, preceding=None, following=0)
    n = sums.n.sum().over(until_now) - sums.n + float_literal(trained)
    r = sums.r.sum().over(until_now) - sums.r + float_literal(rewards)
    rates = sums.select(EPOCH, **{RATE_BEFORE: (n > 0.5).ifelse((r + 0.5) / (n + 1.0), None)})
    return traffic.join(rates, EPOCH)
