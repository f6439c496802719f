"""Strata: the evaluated events summed by context, action and further keys, such as the fold or the epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, EPOCH, FOLD, PROPENSITY, REWARD
from warmstart.engine import fetch_streamed, is_partitioned, sample_by_key
from warmstart.events.cells import Cells, check_sums
from warmstart.events.epoch_history import EpochHistory
from warmstart.events.epochs import EpochList, epoch_of
from warmstart.events.folds import with_folds
from warmstart.events.outcomes import first_outcome
from warmstart.events.window import event_count, event_weight

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import LocalEngine, PartitionedEngine

FOLDS = 5
# A model learns from no more strata than this where they are not in this process.
STRATA_TO_LEARN_FROM = 1_000_000


@dataclass(frozen=True)
class Strata:
    """Cells divided by further keys, held in the engine of the cells.

    ``table``: a row for every (context, action, *by[, logged propensity]) that was shown, with ``n, reward_sum,
    reward_sq_sum`` and, once a source has put it there, ``propensity``. ``traffic``: a row for every (context, *by):
    ``context_n, context_reward_sum, context_reward_sq_sum``, with epochs ``context_actions`` (shown in the context in
    its epoch), and with folds ``other_n, other_reward_sum``, of the context's other folds. ``by``: of epoch and fold.
    ``folds, seed``: how many folds, and their seed. ``epoch``, ``by_propensity``: what else they were divided by.
    ``epochs``: those of the window in order, where propensities are counted within them; ``history``: what rows by
    epoch share with their context in the epoch and before; ``numbers``: what numbers the values of a column got.
    ``own_epoch``: a sample of events with the propensities that all actions have in the epoch of the event, where
    propensities are a mixture over epochs.
    """

    cells: Cells
    table: ir.Table
    traffic: ir.Table
    by: tuple[str, ...]
    folds: int | None = FOLDS
    seed: int = 0
    epoch: str | int | None = None
    by_propensity: bool = False
    epochs: EpochList | None = None
    history: EpochHistory | None = None
    numbers: ir.Table | None = None
    own_epoch: ir.Table | None = None

    @property
    def shown(self) -> ir.Table:
        """Return all rows, by epoch with what they share with their context."""
        return self.table if self.history is None else self.history.add(self.table)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the columns by which traffic is divided: the context and the further keys."""
        return (*self.cells.columns.context_keys, *self.by)

    @property
    def counted_within(self) -> tuple[str, ...]:
        """Return the columns within which propensities are counted: a fold is no reason to choose otherwise."""
        return tuple(name for name in self.groups if name != FOLD)

    def to_learn_from(self) -> pa.Table:
        """Fetch the context columns, action, fold, n and reward_sum, in order; a bounded sample from a cluster."""
        return fetch_to_learn_from(self.cells.engine, self.table, [*self.cells.columns.keys, *self.by])

    def by_epoch(self, epoch: str | int) -> pa.Table:
        """Fetch the context columns, action, epoch, fold and n, in order; a bounded sample from a cluster."""
        table, keys = divided(self.cells, self.folds, self.seed, epoch)
        engine, held = self.cells.evaluated.engine.collect(table.group_by(**keys).agg(n=event_count(table)))
        try:
            if is_partitioned(engine):
                return _sampled(engine, held, list(keys))
            return engine.fetch_arrow(held.order_by(list(keys)))
        finally:
            held.release()


def fetch_to_learn_from(engine: LocalEngine, table: ir.Table, keys: Sequence[str]) -> pa.Table:
    """Fetch keys, n, reward_sum and reward_sq_sum, in order; a bounded sample from a cluster."""
    sums = ("n", "reward_sum", "reward_sq_sum")
    if not is_partitioned(engine):
        return engine.fetch_arrow(table.select(*keys, *sums).order_by(keys))
    # Logged propensities divide strata further.
    return _sampled(engine, table.group_by(*keys).agg(**{name: table[name].sum() for name in sums}), keys)


def _sampled(engine: PartitionedEngine, rows: ir.Table, keys: Sequence[str]) -> pa.Table:
    """Fetch a bounded sample of rows, in order."""
    count = engine.fetch(rows.agg(rows=rows.count()))[0]["rows"]
    sample = fetch_streamed(engine, sample_by_key(rows, keys, STRATA_TO_LEARN_FROM / count))
    return sample.sort_by([(name, "ascending") for name in keys])


@contextmanager
def open_strata(
    cells: Cells,
    *,
    folds: int | None = FOLDS,
    seed: int = 0,
    epoch: str | int | None = None,
    by_propensity: bool = False,
) -> Iterator[Strata]:
    """Sum the evaluated events into strata; released on leaving.

    Args:
        cells: The cells of the window.
        folds: How many folds to divide by; None for no folds.
        seed: Of the folds.
        epoch: Divide by epochs of an hour, a day, a week, a column, or so many microseconds.
        by_propensity: Whether to divide by logged propensities too.
    """
    events, epochs = cells.evaluated, cells.evaluated.log.epochs
    by = (*((EPOCH,) if epoch is not None else ()), *((FOLD,) if folds else ()))
    summed = epochs is not None and epoch == epochs.kind and not folds and not by_propensity
    if summed and cells.by_epoch is not None:
        held = first_outcome(cells.by_epoch)
        yield Strata(cells, held, traffic_of(held, cells, by), by, folds, seed, epoch)
        return
    table, keys = divided(cells, folds, seed, epoch)
    logged = {PROPENSITY: table[PROPENSITY]} if by_propensity else {}
    n, reward = event_weight(table), table[REWARD]
    summed = table.group_by(**keys, **logged).agg(
        n=event_count(table), reward_sum=(n * reward).sum(), reward_sq_sum=(n * reward * reward).sum()
    )
    with ExitStack() as resources:
        engine, held = events.engine.collect(summed)
        resources.callback(held.release)
        check_sums(cells.engine, held, events)
        traffic = traffic_of(held, cells, by)
        if folds:
            traffic = engine.materialise(traffic)
            resources.callback(traffic.release)
        yield Strata(cells, held, traffic, by, folds, seed, epoch, by_propensity)


def divided(
    cells: Cells, folds: int | None, seed: int, epoch: str | int | None
) -> tuple[ir.Table, dict[str, ir.Value]]:
    """Return the evaluated events and the columns to group them by."""
    events, log = cells.evaluated, cells.evaluated.log
    # Other folds than those of Events.split: a window that is one of those must not be a single fold here.
    table = with_folds(log, folds, seed, name=FOLD, salt="strata ") if folds else log.table
    table = replace(events, log=replace(log, table=table)).table
    keys = {name: table[name].cast(cells.table[name].type()) for name in cells.columns.keys}
    keys |= {} if epoch is None else {EPOCH: epoch_of(table, epoch)}
    return table, keys | ({FOLD: table[FOLD]} if folds else {})


def traffic_of(table: ir.Table, cells: Cells, by: tuple[str, ...]) -> ir.Table:
    """Return a row for every context and further keys, with the sums of its strata."""
    contexts = list(cells.columns.context_keys)
    within = [*contexts, *(name for name in by if name != FOLD)]
    sums = {f"context_{name}": table[name].sum() for name in ("n", "reward_sum", "reward_sq_sum")}
    if EPOCH in by and FOLD not in by and PROPENSITY not in table.columns:
        # An action has one row there.
        return table.group_by(*within).agg(**sums, context_actions=table.count().cast("float64"))
    traffic = table.group_by(*contexts, *by).agg(**sums)
    if EPOCH in by:
        shown = table.select(*within, ACTION).distinct()
        actions = shown.group_by(*within).agg(context_actions=shown.count().cast("float64"))
        traffic = traffic.join(actions, within)
    if FOLD not in by:
        return traffic
    whole = ibis.window(group_by=contexts)
    return traffic.mutate(
        other_n=traffic.context_n.sum().over(whole) - traffic.context_n,
        other_reward_sum=traffic.context_reward_sum.sum().over(whole) - traffic.context_reward_sum,
    )
