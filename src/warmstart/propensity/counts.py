"""Propensities by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.core.names import WindowName
    from warmstart.events import Cells


def counted_propensity(cells: Cells, window: WindowName) -> ir.Value:
    """Return pi_hat(a|x) = events of (x, a) / events of x in a window, as a column of the cells (paper, Eq. 7).

    Null where the window never saw the context: then there is no propensity, and none is made up.
    """
    n, context_n = cells.counts(window)
    return n / context_n.nullif(0.0)
