"""The actions that a policy may choose in a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core.names import ACTION, WindowName

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells


def feasible_actions(cells: Cells, window: WindowName) -> ir.Table:
    """Return the feasible set C(x) = actions shown in x in a window, for contexts of the evaluated window."""
    seen, _ = cells.counts(window)
    table = cells.table.filter(seen > 0, cells.table.context_n > 0)
    return table.select(*cells.columns.keys, "context_n")


def live_spans(cells: Cells) -> ir.Table:
    """Return each action's first and last day anywhere in the log given: action, start, stop (exclusive)."""
    table = cells.table
    spans = table.group_by(ACTION).agg(start=table.first_day.min(), last=table.last_day.max())
    return spans.select(ACTION, "start", stop=spans["last"] + 1)
