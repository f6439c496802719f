"""What rows by epoch share with their context in the epoch, and what was known of it before the epoch began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import EPOCH
from warmstart.engine import float_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

# Columns of traffic by context and epoch: the context's events and rewards before the epoch, and the mean reward of all
# contexts before it; null where there was nothing before.
N_BEFORE, REWARD_SUM_BEFORE, RATE_BEFORE = "context_n_before", "context_reward_sum_before", "rate_before"


@dataclass(frozen=True, eq=False)
class EpochHistory:
    """What can be added to rows by epoch, so that only the rows of a policy carry it.

    ``traffic``: sums by context and epoch, with those before it; or, if contexts are not told apart by what was known
    before, only where a context was shown several actions in an epoch: a single action has all of its traffic.
    ``rates``: the mean reward before each epoch.
    """

    contexts: tuple[str, ...]
    traffic: ir.Table
    rates: ir.Table

    def add(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, with the columns of their context in the epoch and before it."""
        groups = [*self.contexts, EPOCH]
        if N_BEFORE in self.traffic.columns:
            joined = rows.join(self.traffic, groups)
        else:
            joined = rows.left_join(self.traffic, groups)
            sums = ("n", "reward_sum", "reward_sq_sum")
            own = {f"context_{name}": rows[name] for name in sums} | {"context_actions": float_literal(1)}
            shared = {name: joined[name].coalesce(alone) for name, alone in own.items()}
            joined = joined.select(
                *rows.columns, **shared, **{name: float_literal(0) for name in (N_BEFORE, REWARD_SUM_BEFORE)}
            )
        return joined.join(self.rates, EPOCH)
