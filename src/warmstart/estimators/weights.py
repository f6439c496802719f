"""Importance weights: the one place where a probability is divided by a propensity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import EPOCH, PROBABILITY, PROPENSITY
from warmstart.engine import float_literal
from warmstart.estimators.intervals import first_bin

if TYPE_CHECKING:
    import ibis.expr.types as ir

# Columns of the weighted table: the evaluated window's own shares, where weights come from another window.
OWN = "own_propensity"


@dataclass(frozen=True)
class TauByEpoch:
    """A clipping constant that changes from epoch to epoch: ``steps`` of a first epoch and the tau from there on."""

    steps: tuple[tuple[int, float], ...]

    @property
    def last(self) -> float:
        """Return the tau of the last epochs."""
        return self.steps[-1][1]

    def on(self, rows: ir.Table) -> ir.Value:
        """Return the tau of every row."""
        (_, first), *later = self.steps
        tau: ir.Value = float_literal(first)
        for since, value in later:
            tau = (rows[EPOCH] >= since).ifelse(float_literal(value), tau)
        return tau


Clip = float | TauByEpoch


def tau_of(rows: ir.Table, tau: Clip) -> ir.Value:
    """Return the clipping constant of every row."""
    return tau.on(rows) if isinstance(tau, TauByEpoch) else float_literal(tau)


def importance_weight(probability: ir.Value, propensity: ir.Value, tau: ir.Value) -> ir.Value:
    """Return probability / max(propensity, tau) (paper, Eq. 2); zero where there is no propensity: none is made up."""
    inverse = 1.0 / ibis.greatest(propensity, tau).nullif(0.0)
    return propensity.isnull().ifelse(0.0, probability * inverse.coalesce(0.0))


def clipped(rows: ir.Table, tau: Clip, propensity: str = PROPENSITY) -> ir.Value:
    """Return the clipped importance weight, probability / max(propensity, tau)."""
    if propensity == PROPENSITY and (known := _column(clipped, tau)) in rows.columns:
        return rows[known]
    if not isinstance(tau, TauByEpoch) and tau > 0:
        # The same in half the time, since nothing can be divided by zero.
        p = rows[propensity]
        most = (p >= float_literal(tau)).ifelse(p, float_literal(tau))
        return p.isnull().ifelse(0.0, rows[PROBABILITY] / most)
    return importance_weight(rows[PROBABILITY], rows[propensity], tau_of(rows, tau))


def own_clipped(rows: ir.Table, tau: Clip) -> ir.Value:
    """Return the clipped importance weight with the propensity that support is judged by."""
    return clipped(rows, tau, OWN if OWN in rows.columns else PROPENSITY)


def unclipped(rows: ir.Table) -> ir.Value:
    """Return the plain importance weight with the propensity that support is judged by."""
    return importance_weight(rows[PROBABILITY], supporting(rows), float_literal(0))


def switched(rows: ir.Table, tau: Clip) -> ir.Value:
    """Return the importance weight where the propensity is at least tau, else zero."""
    return (supporting(rows) >= tau_of(rows, tau)).fill_null(False).ifelse(own_clipped(rows, tau), 0.0)


def shrunk(rows: ir.Table, tau: Clip) -> ir.Value:
    """Return w / (1 + (tau * w)^2), w = probability / propensity: close to w if small, never above 1 / (2 tau)."""
    w = own_clipped(rows, 0.0)
    share = tau_of(rows, tau) * w
    return w / (1.0 + share * share)


def supporting(rows: ir.Table) -> ir.Value:
    """Return the propensity that support (overlap) is judged by: the evaluated window's own, if it is there too."""
    return rows[OWN] if OWN in rows.columns else rows[PROPENSITY]


def is_supported(rows: ir.Table, tau: Clip) -> ir.BooleanValue:
    """Tell where the propensity is known and at least tau (overlap, positivity)."""
    p = supporting(rows)
    if not isinstance(tau, TauByEpoch) and tau > 0:
        return (p >= float_literal(tau)).fill_null(False)
    return ((p > 0) & (p >= tau_of(rows, tau))).fill_null(False)


def supported_ratio(rows: ir.Table, tau: Clip) -> ir.Value:
    """Return probability / propensity where it is supported, else zero."""
    if (known := _column(supported_ratio, tau)) in rows.columns:
        return rows[known]
    return is_supported(rows, tau).ifelse(rows[PROBABILITY] / supporting(rows).nullif(0.0), 0.0)


def weight_columns(rows: ir.Table, taus: Sequence[Clip]) -> dict[str, ir.Value]:
    """Return clipped weights and supported ratios as columns, so that they need not be computed for every event."""
    return {_column(weight, tau): weight(rows, tau) for weight in (clipped, supported_ratio) for tau in taus}


def _column(weight: Callable[[ir.Table, Clip], ir.Value], tau: Clip) -> str:
    return f"{weight.__name__}_at_{tau!r}"


def log_bin(weight: ir.Value, ratio: float, smallest: float) -> ir.Value:
    """Return the bin of a weight's logarithm to the base ``ratio``; one bin for all below the smallest."""
    bins = (ibis.greatest(weight, ibis.literal(smallest)).ln() / math.log(ratio)).floor().cast("int64")
    return ibis.greatest(bins, ibis.literal(first_bin(ratio, smallest)))
