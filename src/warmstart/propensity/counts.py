"""Propensities by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.events import window_counts

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.core.names import WindowName


def counted_propensity(rows: ir.Table, window: WindowName) -> ir.Value:
    """Return pi_hat(a|x) = events of (x, a) / events of x in a window, as a column of cells (paper, Eq. 7).

    Null where the window never saw the context: then there is no propensity, and none is made up.
    """
    n, context_n = window_counts(rows, window)
    return n / context_n.nullif(0.0)
