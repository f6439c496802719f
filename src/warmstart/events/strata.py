"""Cells taken apart by fold and, where it was logged, by propensity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core.names import FOLD, PROPENSITY, REWARD
from warmstart.events.cells import Cells, check_sums
from warmstart.events.folds import with_folds

if TYPE_CHECKING:
    import ibis.expr.types as ir

FOLDS = 5


@contextmanager
def open_strata(cells: Cells, *, folds: int = FOLDS, seed: int = 0) -> Iterator[ir.Table]:
    """Sum the evaluated events by (context, action, fold[, propensity]); released on leaving.

    Columns: the keys, ``fold``, ``propensity`` if the log has it, ``n, reward_sum, reward_sq_sum``.
    """
    events = cells.evaluated
    # Other folds than those of Events.split: a window that is one of those must not be a single fold here.
    table = with_folds(events.log, folds, seed, name=FOLD, salt="strata ")
    table = replace(events, log=replace(events.log, table=table)).table
    keys = {name: table[name].cast(cells.table[name].type()) for name in cells.columns.keys}
    logged = {PROPENSITY: table[PROPENSITY]} if PROPENSITY in table.columns else {}
    reward = table[REWARD]
    summed = table.group_by(**keys, fold=table[FOLD], **logged).agg(
        n=table.count().cast("float64"), reward_sum=reward.sum(), reward_sq_sum=(reward * reward).sum()
    )
    _, held = events.engine.collect(summed)
    try:
        check_sums(cells.engine, held, events)
        yield held
    finally:
        held.release()
