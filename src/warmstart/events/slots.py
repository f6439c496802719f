"""Slots: events by (context, action, ten minutes), of some contexts where a log is large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import EPOCH, REWARD, TIME
from warmstart.engine import sample_by_key
from warmstart.events.epochs import HOUR, epoch_of
from warmstart.events.folds import with_key_folds

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.events.window import Events

SLOT = "slot"
SLOTS_PER_HOUR = 6
# Enough events to tell whether a logging policy reacts, and the fewest contexts that stand for all.
SAMPLED_EVENTS, SAMPLED_CONTEXTS = 200_000, 100
PARTS = 10_000
WITHOUT_MD5 = "sqlite"
PLACE = "place_in_sample"


@dataclass(frozen=True)
class Slots:
    """Sums of a window's events, or of a sample, held in an engine.

    ``table``: a row for every (context, action, slot[, epoch]), the slot being ten minutes counted from 1970:
    ``n, reward_sum, reward_sq_sum``. ``share``: the share of contexts, or of moments, that were drawn.
    """

    engine: LocalEngine
    events: Events
    table: ir.Table
    share: float = 1.0


@contextmanager
def open_slots(events: Events) -> Iterator[Slots]:
    """Sum a window's events by slot; released on leaving.

    A log of many events is sampled: all events of some contexts, or of some moments where there are few contexts.
    """
    share = min(SAMPLED_EVENTS / max(len(events), 1), 1.0)
    contexts = list(events.columns.context_keys)
    engine, table = _drawn(events, contexts, share)
    try:
        if share < 1 and _distinct(engine, table, contexts) < SAMPLED_CONTEXTS:
            table.release()
            engine, table = _drawn(events, [*contexts, TIME], share)
        yield Slots(engine, events, table, share)
    finally:
        table.release()


def _drawn(events: Events, keys: list[str], share: float) -> tuple[LocalEngine, ir.CachedTable]:
    """Sum a share of the events, all or none of those with the same keys."""
    table = events.table
    if share >= 1 or not events.engine.remote:
        return events.engine.collect(_summed(events, sample_by_key(table, keys, share)))
    if events.engine.name != WITHOUT_MD5:
        table = with_key_folds(table, events.engine, keys, PARTS, name=PLACE, salt="slots")
        return events.engine.collect(_summed(events, table.filter(table[PLACE] < round(share * PARTS))))
    engine, everything = events.engine.collect(_summed(events, table))
    try:
        here = [SLOT if key == TIME else key for key in keys]
        return engine, engine.materialise(sample_by_key(everything, here, share))
    finally:
        everything.release()


def _summed(events: Events, table: ir.Table) -> ir.Table:
    reward, column = table[REWARD], events.columns.epoch
    by = {name: table[name] for name in events.columns.keys} | ({} if column is None else {EPOCH: table[EPOCH]})
    return table.group_by(**by, **{SLOT: epoch_of(table, HOUR // SLOTS_PER_HOUR)}).agg(
        n=table.count().cast("float64"), reward_sum=reward.sum(), reward_sq_sum=(reward * reward).sum()
    )


def _distinct(engine: LocalEngine, table: ir.Table, keys: list[str]) -> int:
    rows = table.select(*keys).distinct()
    return int(engine.fetch(rows.agg(rows=rows.count()))[0]["rows"])
