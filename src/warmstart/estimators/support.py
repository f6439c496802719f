"""Support (overlap): which traffic the log knows the policy's choice on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.core import PROBABILITY
from warmstart.estimators.weights import Clip, is_supported, supported_ratio, unclipped
from warmstart.results import Support

if TYPE_CHECKING:
    import ibis.expr.types as ir


def sums(rows: ir.Table, tau: Clip) -> dict[str, ir.Value]:
    """Sum events by support: supported, clipped, decided; and contested, where it is known that actions differed.

    n * probability / propensity stands for the events on which the policy would choose the action: exactly context_n *
    probability with counts, an estimate of it with other propensities.
    """
    ratio = supported_ratio(rows, tau)
    totals = {
        "matched": (rows[PROBABILITY] > 0).ifelse(rows.n, 0.0).sum(),
        "decided": (rows.context_n * rows[PROBABILITY]).sum(),
        "supported": (ratio * rows.n).sum(),
        "clipped": is_supported(rows, tau).ifelse(0.0, unclipped(rows) * rows.n).sum(),
    }
    if "context_actions" in rows.columns:
        totals["contested"] = (rows.context_actions > 1).ifelse(ratio * rows.n, 0.0).sum()
    return totals


def shares(totals: Mapping[str, float], events: float) -> Support:
    """Return shares of the traffic that sum to 1; estimated ones are cut to the share that is decided."""
    decided = min(totals["decided"] / events, 1.0)
    supported = min(totals["supported"] / events, decided)
    clipped = min(totals["clipped"] / events, decided - supported)
    return Support(supported, clipped, decided - supported - clipped, 1 - decided)
