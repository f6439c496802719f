"""What a learned policy chooses in contexts that its training never saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from warmstart.core import ACTION, EPOCH, MICROSECONDS_PER_DAY
from warmstart.policy.naive import best_of_known

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Strata
    from warmstart.policy.fitted import FittedPolicy


@dataclass(frozen=True, eq=False)
class BestOfKnown:
    """The action with the highest score among those that training showed, as ``choose`` takes it.

    With ``live`` among those live on all days of the evaluated window; with epochs among those of its first epoch,
    since later ones have no say. ``source``: the table of contexts with their features; a context without a row is
    scored by the actions alone.
    """

    fitted: FittedPolicy
    source: Any
    live: bool

    def choices(self, cells: Cells, ranked: ir.Table, strata: Strata | None) -> ir.Table:
        """Return the contexts of the evaluated window that are not ranked, each with its action."""
        contexts = list(cells.columns.context_keys)
        unseen = cells.contexts.select(*contexts).anti_join(ranked, contexts)
        fitted = self.fitted.among(self._candidates(cells, strata)) if self.live else self.fitted
        if not len(fitted.actions):
            return ranked.select(*contexts, ACTION).limit(0)
        return best_of_known(cells, unseen, fitted, self.source)

    def _candidates(self, cells: Cells, strata: Strata | None) -> pa.ChunkedArray:
        if strata is not None:
            shown = strata.table.filter(strata.table[EPOCH] == strata.table[EPOCH].min())
        else:
            window, table = cells.evaluated.window, cells.table
            first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
            shown = table.filter((table.live_from <= first) & (table.live_until > last))
        return cells.engine.fetch_arrow(shown.select(ACTION).distinct())[ACTION]
