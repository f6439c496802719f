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
# What is known of rewards is told apart by context if the first epoch has so many events of one, on average.
ENOUGH_PER_CONTEXT = 5.0
# An epoch of a column by its place in time: a column of its own until the epochs have numbers.
NUMBER, LABEL, OVERLAPS = "number", "label", "overlaps"


@contextmanager
def open_epoch_strata(cells: Cells, rate: float | None) -> Iterator[Strata]:
    """Sum the evaluated events by context, action and epoch; released on leaving.

    Rows carry what they share with their context in the epoch, and what was known of it before. Epochs are in the order
    of their first events. What is known before one is what earlier ones and the training window tell, if the mean
    reward of this, ``rate``, is known and rewards differed there.
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

        with open_strata(cells, folds=None, epoch=epochs.kind) as found:
            numbers = _numbers(cells, resources) if epochs.kind == COLUMN else None
            table = found.table if numbers is None else numbered(found.table, numbers)
            table = keep(_with_history(cells, table, rate))
        strata = replace(found, table=table, traffic=_traffic(cells, table), numbers=numbers)
        yield replace(strata, epochs=_listed(cells.engine, strata, epochs.kind))


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


def _listed(engine: LocalEngine, strata: Strata, kind: str) -> EpochList:
    table = strata.table
    sums = {"n": table.n.sum(), "rate": table[RATE_BEFORE].max()}
    rows = engine.fetch(table.group_by(EPOCH).agg(**sums).order_by(EPOCH))
    numbers = np.array([row[EPOCH] for row in rows], dtype=np.int64)
    apart = True
    if strata.numbers is None:
        labels = tuple(epoch_label(kind, int(number)) for number in numbers)
    else:
        listed = engine.fetch(strata.numbers)
        names, apart = {row[NUMBER]: str(row[LABEL]) for row in listed}, not any(row[OVERLAPS] for row in listed)
        labels = tuple(names[int(number)] for number in numbers)
    known = np.array([row["rate"] is not None for row in rows])
    return EpochList(numbers, labels, np.array([row["n"] for row in rows], dtype=np.float64), known, apart)


def _with_history(cells: Cells, table: ir.Table, rate: float | None) -> ir.Table:
    """Add to strata what they share with their context in the epoch, and what was known before.

    Of a context that comes rarely there is little to know: all contexts then share what is known of rewards.
    """
    now = ibis.window(group_by=[*cells.columns.context_keys, EPOCH])
    shared = {f"context_{name}": table[name].sum().over(now) for name in ("n", "reward_sum", "reward_sq_sum")}
    shared["context_actions"] = table.n.count().over(now).cast("float64")
    # Rewards that never differed, all 0 or all 1, say nothing: so rewards and their lack are treated alike.
    trained = cells.train.total if rate is not None and 0 < rate < 1 and cells.train is not None else 0.0
    if _events_per_context(cells, table) >= ENOUGH_PER_CONTEXT:
        rows = _with_context_history(cells, table, shared, trained=trained > 0)
    else:
        rows = table.mutate(**shared, **{name: float_literal(0) for name in (N_BEFORE, REWARD_SUM_BEFORE)})
    return rows.join(_rates(table, trained, (rate or 0.0) * trained), EPOCH)


def _events_per_context(cells: Cells, table: ir.Table) -> float:
    """Return how many events a context has in the first epoch, on average."""
    first = table.filter(table[EPOCH] == table[EPOCH].min())
    contexts = first.group_by(*cells.columns.context_keys).agg(n=first.n.sum())
    return float(cells.engine.fetch(contexts.agg(mean=contexts.n.mean()))[0]["mean"])


def _with_context_history(cells: Cells, table: ir.Table, shared: dict[str, ir.Value], *, trained: bool) -> ir.Table:
    """Add sums over the context's earlier epochs, and its training if that has a say."""
    contexts = list(cells.columns.context_keys)
    until_now = ibis.range_window(group_by=contexts, order_by=EPOCH, preceding=None, following=0)
    sums = {N_BEFORE: table.n, REWARD_SUM_BEFORE: table.reward_sum}
    rows = table.mutate(**shared, **{name: value.sum().over(until_now) for name, value in sums.items()})
    before = {N_BEFORE: rows[N_BEFORE] - rows.context_n}
    before[REWARD_SUM_BEFORE] = rows[REWARD_SUM_BEFORE] - rows.context_reward_sum
    rows = rows.mutate(**before)
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


def _traffic(cells: Cells, table: ir.Table) -> ir.Table:
    """Return a row for every context and epoch."""
    shared = [name for name in table.columns if name.startswith("context_") and name not in cells.columns.keys]
    groups = table.group_by(*cells.columns.context_keys, EPOCH)
    return groups.agg(**{name: table[name].max() for name in (*shared, RATE_BEFORE)})
