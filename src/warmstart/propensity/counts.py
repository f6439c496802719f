"""Propensities by counting: the one place where the events of a cell are divided by those of its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import ACTION
from warmstart.events import window_counts

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.core.names import WindowName


def counted_propensity(rows: ir.Table, window: WindowName = "evaluated") -> ir.Value:
    """Return pi_hat(a|x) = events of (x, a) / events of x in a window, as a column of cells (paper, Eq. 7).

    Null where the window never saw the context: then there is no propensity, and none is made up.
    """
    n, context_n = window_counts(rows, window)
    return n / context_n.nullif(0.0)


def counted_within(rows: ir.Table, keys: Sequence[str]) -> ir.Value:
    """Return pi_hat(a|x) counted within the given keys (the context, or context and epoch), over all folds."""
    whole = ibis.window(group_by=[*keys, ACTION])
    return rows.n.sum().over(whole) / rows.context_n.sum().over(whole).nullif(0.0)
