"""The actions that a policy may choose in a context."""

from __future__ import annotations

import ibis.expr.types as ir

from warmstart.core import WindowName
from warmstart.events import Cells, window_counts


def feasible_cells(cells: Cells, window: WindowName) -> ir.Table:
    """Return the cells of the feasible set C(x) = actions shown in x in a window, for the evaluated contexts."""
    table = cells.table
    return table.filter(is_feasible(table, window), table.context_n > 0)


def is_feasible(rows: ir.Table, window: WindowName) -> ir.BooleanValue:
    """Tell of each cell whether its action was shown in its context in a window."""
    seen, _ = window_counts(rows, window)
    return seen > 0


def feasible_count(feasible: ir.Table, window: WindowName) -> ir.Value:
    """Return the size of the feasible set of each cell's context."""
    if window == "evaluated" or "n_train" not in feasible.columns:
        return feasible.context_actions
    return feasible.context_actions_train if window == "train" else feasible.context_actions_all
