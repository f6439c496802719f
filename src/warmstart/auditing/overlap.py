"""What a log supports where contexts do not repeat: judged by propensities of a model, or logged ones.

Only the propensity of what was shown is needed, because shown actions are drawn by the propensities: the mean over
events of f(p) / p is the sum of f(p_a) over all actions a of a context. So nothing of size events x actions exists.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from warmstart.core import PROPENSITY
from warmstart.engine import float_literal
from warmstart.estimators import importance_weight, squared_error
from warmstart.policy import share_of_each
from warmstart.results import MoreLog, Overlap, Power, SupportAt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ibis.expr.types as ir

    from warmstart.events import Strata
    from warmstart.results import Exploration, PropensitySource

# The tau at which overlap is judged: the likeliest action leaves at least so much to all others.
TAU = 0.05
GAINS = (0.05, 0.10)


def judge_overlap(strata: Strata, source: PropensitySource, *, tau: float = TAU) -> Overlap:
    """Judge how much choice the logging policy had: the one judgement of ``audit`` and of ``evaluate``.

    Args:
        strata: Strata with propensities.
        source: Where these come from.
        tau: See ``choice``: 1 - mean over events of 1(p > 1 - tau) / p, p of what was shown.
    """
    rows = _known(strata)
    certain = _certain(rows, tau)
    sums = {"n": rows.n.sum(), "certain": certain.sum(), "loss": -(rows.n * rows[PROPENSITY].ln()).sum()}
    totals = strata.cells.engine.fetch(rows.agg(**sums))[0]
    events = float(totals["n"] or 0.0)
    if not events:
        return Overlap(tau, 0.0, 1.0, source.name)
    choice = 1 - float(totals["certain"]) / events
    return Overlap(tau, min(max(choice, 0.0), 1.0), math.exp(float(totals["loss"]) / events), source.name)


def modelled_exploration(
    counted: Exploration, strata: Strata, source: PropensitySource, *, live: bool
) -> tuple[Exploration, Power]:
    """Return the choice in a log, and what it could prove, by propensities that are no counts: nothing for certain.

    Args:
        counted: The choice by counts; how many actions contexts were shown, and how evenly, stays.
        strata: Strata with propensities.
        source: Where these come from.
        live: Whether ``uniform-all`` chooses among the actions that are live on the day.
    """
    overlap = judge_overlap(strata, source)
    taus = [at.tau for at in counted.support]
    taus = sorted({*taus, overlap.tau})
    support, width = _support(strata, taus, overlap.tau, live=live)
    low, high = strata.cells.evaluated.log.reward_range
    none = tuple(MoreLog(gain, None) for gain in GAINS)
    blind = (high - low) * (1 - overlap.choice)
    power = Power(overlap.tau, overlap.choice, None, none, sampling=(high - low) * width, blind=blind)
    effective = overlap.effective_actions
    return replace(counted, effective_actions=effective, support=support, overlap=overlap, live=live), power


def _support(
    strata: Strata, taus: Sequence[float], reference: float, *, live: bool
) -> tuple[tuple[SupportAt, ...], float]:
    """Return the support of ``uniform-all`` by tau, and the width of a 95 % interval of its value at one tau."""
    cells, rows = strata.cells, _known(strata)
    rows = rows.join(share_of_each(cells, live=live), list(cells.columns.context_keys))
    p, h = rows[PROPENSITY], rows.share
    sums = {"rewards": rows.reward_sum.sum()}
    for i, tau in enumerate(taus):
        weight = importance_weight(h, p, float_literal(tau))
        sums[f"supported_{i}"] = (p >= tau).ifelse(rows.n * h / p, 0.0).sum()
        sums[f"certain_{i}"] = _certain(rows, tau).sum()
        sums[f"lost_{i}"] = (rows.n * (h / p - weight)).sum()
        sums[f"squares_{i}"] = (rows.n * weight * weight).sum()
        sums[f"variance_{i}"] = (rows.reward_sq_sum * weight * weight).sum()
    totals = {name: float(total or 0.0) for name, total in cells.engine.fetch(rows.agg(**sums))[0].items()}
    events = float(cells.evaluated.window.events)
    support = tuple(
        SupportAt(
            tau,
            uniform=min(totals[f"supported_{i}"] / events, 1.0),
            choice=min(max(1 - totals[f"certain_{i}"] / events, 0.0), 1.0),
            error=squared_error(
                totals[f"lost_{i}"] / events, totals[f"squares_{i}"] / events**2, totals["rewards"] / events
            ),
        )
        for i, tau in enumerate(taus)
    )
    variance = totals[f"variance_{list(taus).index(reference)}"]
    return support, 2 * NormalDist().inv_cdf(0.975) * math.sqrt(variance) / events


def _known(strata: Strata) -> ir.Table:
    """Return the strata whose propensity is known."""
    table = strata.table
    return table.filter(table[PROPENSITY].notnull(), table[PROPENSITY] > 0)


def _certain(rows: ir.Table, tau: float) -> ir.Value:
    """Return as a column the events, by weight, on which one action has a propensity above 1 - tau."""
    p = rows[PROPENSITY]
    return (p > 1 - tau).ifelse(rows.n / p, 0.0)
