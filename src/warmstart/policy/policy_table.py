"""A policy: a table of what it would choose."""

from __future__ import annotations

from dataclasses import dataclass

import ibis.expr.types as ir

from warmstart.core import EPOCH, PROBABILITY
from warmstart.events import Cells, with_outcomes


@dataclass(frozen=True)
class PolicyTable:
    """A table of context_0, ..., action[, epoch], probability; a context without rows is undecided.

    ``seated``: the table carries the columns of the cells it was made from, so that no join is needed to value it.
    ``costly``: it takes more than a look at the cells to compute, so that is done once for all questions.
    ``is_logging`` marks the logging policy itself, whose value is the plain mean reward: it needs no weights, so
    nothing of it is clipped. ``whole``: it is known that the probabilities of a context sum to 1, if it has any.
    """

    name: str
    table: ir.Table
    seated: bool = False
    costly: bool = True
    is_logging: bool = False
    whole: bool = False

    def choices(self, cells: Cells) -> ir.Table:
        """Return its choices alone: the context columns, the action, the epoch if that matters, the probability."""
        by_epoch = [EPOCH] if EPOCH in self.table.columns else []
        return self.table.select(*cells.columns.keys, *by_epoch, PROBABILITY)

    def on(self, cells: Cells) -> ir.Table:
        """Return its choices in the evaluated window's contexts with the columns of their cells.

        A choice that was never shown has n = 0. What the policy does not choose has no row.
        """
        if self.seated:
            return self.table
        keys = cells.columns.keys
        own = with_outcomes(cells.table, ("n", "reward_sum", "reward_sq_sum", "n_train"))
        chosen = self.table.join(cells.contexts, list(cells.columns.context_keys))
        joined = chosen.left_join(cells.table.select(*keys, *own), list(keys))
        shown = {name: joined[name].coalesce(0.0) for name in own}
        shared = [name for name in chosen.columns if name.startswith("context_") and name not in keys]
        return joined.select(*keys, PROBABILITY, *shared, **shown)
