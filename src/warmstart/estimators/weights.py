"""Importance weights: the one place where a probability is divided by a propensity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import ibis

from warmstart.core import PROBABILITY, PROPENSITY
from warmstart.estimators.intervals import first_bin

if TYPE_CHECKING:
    import ibis.expr.types as ir

# Columns of the weighted table: the evaluated window's own shares, where weights come from another window.
OWN = "own_propensity"


def importance_weight(probability: ir.Value, propensity: ir.Value, tau: float) -> ir.Value:
    """Return probability / max(propensity, tau) (paper, Eq. 2); zero where there is no propensity: none is made up."""
    inverse = 1.0 / ibis.greatest(propensity, ibis.literal(tau)).nullif(0.0)
    return propensity.isnull().ifelse(0.0, probability * inverse.coalesce(0.0))


def clipped(rows: ir.Table, tau: float) -> ir.Value:
    """Return the clipped importance weight, probability / max(propensity, tau)."""
    if (known := _column(clipped, tau)) in rows.columns:
        return rows[known]
    return importance_weight(rows[PROBABILITY], rows[PROPENSITY], tau)


def switched(rows: ir.Table, tau: float) -> ir.Value:
    """Return the importance weight where the propensity is at least tau, else zero."""
    return (rows[PROPENSITY] >= tau).fill_null(False).ifelse(clipped(rows, tau), 0.0)


def shrunk(rows: ir.Table, tau: float) -> ir.Value:
    """Return w / (1 + (tau * w)^2), w = probability / propensity: close to w if small, never above 1 / (2 tau)."""
    w = clipped(rows, 0.0)
    return w / (1.0 + (tau * w) * (tau * w))


def supporting(rows: ir.Table) -> ir.Value:
    """Return the propensity that support (overlap) is judged by: the evaluated window's own, if it is there too."""
    return rows[OWN] if OWN in rows.columns else rows[PROPENSITY]


def is_supported(rows: ir.Table, tau: float) -> ir.BooleanValue:
    """Tell where the propensity is known and at least tau (overlap, positivity)."""
    p = supporting(rows)
    return ((p > 0) & (p >= tau)).fill_null(False)


def supported_ratio(rows: ir.Table, tau: float) -> ir.Value:
    """Return probability / propensity where it is supported, else zero."""
    if (known := _column(supported_ratio, tau)) in rows.columns:
        return rows[known]
    return is_supported(rows, tau).ifelse(importance_weight(rows[PROBABILITY], supporting(rows), 0.0), 0.0)


def weight_columns(rows: ir.Table, taus: Sequence[float]) -> dict[str, ir.Value]:
    """Return clipped weights and supported ratios as columns, so that they need not be computed for every event."""
    return {_column(weight, tau): weight(rows, tau) for weight in (clipped, supported_ratio) for tau in taus}


def _column(weight: Callable[[ir.Table, float], ir.Value], tau: float) -> str:
    return f"{weight.__name__}_at_{tau!r}"


def log_bin(weight: ir.Value, ratio: float, smallest: float) -> ir.Value:
    """Return the bin of a weight's logarithm to the base ``ratio``; one bin for all below the smallest."""
    bins = (ibis.greatest(weight, ibis.literal(smallest)).ln() / math.log(ratio)).floor().cast("int64")
    return ibis.greatest(bins, ibis.literal(first_bin(ratio, smallest)))
