"""What propensities of another window do to the value: each chosen action's reward is multiplied by a weight ratio.

ratio = share in the evaluated window / max(propensity used, tau);   1 is right, more counts too much
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warmstart.core import PROBABILITY, PROPENSITY
from warmstart.estimators.weights import OWN, Clip, importance_weight, is_supported, tau_of
from warmstart.results import PropensityError, WeightRatio

if TYPE_CHECKING:
    import ibis.expr.types as ir

# A column of the weighted table: the paper's reg(x), the largest squared error of a context's propensities.
REGRET = "regret"


def sums(rows: ir.Table, tau: Clip) -> dict[str, ir.Value]:
    """Sum over traffic where the ratio is above 1, how far it is from 1, and the paper's bound on that (Lemma 3.1)."""
    ratio = importance_weight(rows[OWN].coalesce(0.0), rows[PROPENSITY], tau_of(rows, tau))
    traffic, supported = rows.context_n * rows[PROBABILITY], is_supported(rows, tau)
    return {
        "overweighted": (ratio > 1).ifelse(traffic, 0.0).sum(),
        "tight": supported.ifelse(traffic * (ratio - 1.0).abs(), 0.0).sum(),
        "paper": supported.ifelse(traffic * rows[REGRET].sqrt() / tau_of(rows, tau), 0.0).sum(),
    }


def weight_ratio(totals: Mapping[str, float], events: float) -> WeightRatio:
    """Return the mean ratio over traffic whose chosen action was shown, and what it does to the clipped value."""
    shown = totals["supported"] + totals["clipped"]
    mean = totals["propensity_weight"] / shown if shown > 0 else 0.0
    values = (totals[f"{propensity}_reward"] / events for propensity in (PROPENSITY, OWN))
    return WeightRatio(mean, totals["overweighted"] / events, *values)


def propensity_error(totals: Mapping[str, float], events: float) -> PropensityError:
    """Return how far these propensities can move the value."""
    return PropensityError(paper=totals["paper"] / events, tight=totals["tight"] / events)
