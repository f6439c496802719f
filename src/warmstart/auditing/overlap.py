"""What a log supports where contexts do not repeat: judged by propensities of a model, or logged ones.

Only the propensity of what was shown is needed, because shown actions are drawn by the propensities: the mean over
events of f(p) / p is the sum of f(p_a) over all actions a of a context. What ``uniform-all`` could be told of is asked
of the estimators, over its weighted table. Nothing of size events x actions exists.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.auditing.power import DELTA, GAINS
from warmstart.auditing.support import TAUS, supported_shares
from warmstart.core import PROPENSITY
from warmstart.estimators import Levels, estimate_policy
from warmstart.results import MoreLog, Overlap, Power, SupportAt

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.estimators import WeightedRows
    from warmstart.events import Strata
    from warmstart.results import Exploration, PropensitySource

# The tau at which overlap is judged: the likeliest action leaves at least so much to all others.
TAU = 0.05


def judge_overlap(strata: Strata, source: PropensitySource, *, tau: float = TAU) -> Overlap:
    """Judge how much choice the logging policy had: the one judgement of ``audit`` and of ``evaluate``.

    Args:
        strata: Strata with propensities.
        source: Where these come from.
        tau: See ``choice``: 1 - mean over events of 1(p > 1 - tau) / p, p of what was shown.
    """
    rows = _known(strata)
    loss = -(rows.n * rows[PROPENSITY].ln()).sum()
    totals = strata.cells.engine.fetch(rows.agg(n=rows.n.sum(), loss=loss, certain=_certain(rows, tau)))[0]
    events = float(totals["n"] or 0.0)
    if not events:
        return Overlap(tau, 0.0, 1.0, source.name)
    choice = _choice(totals["certain"], events)
    return Overlap(tau, choice, math.exp(float(totals["loss"]) / events), source.name)


def modelled_exploration(
    counted: Exploration, weighted: WeightedRows, strata: Strata, source: PropensitySource
) -> tuple[Exploration, Power]:
    """Return the choice in a log, and what it could prove, by propensities that are no counts: nothing for certain.

    Tau, support, errors and the width of an interval are those of ``evaluate("uniform-all")``, the interval of IPS.

    Args:
        counted: The choice by counts; how many actions contexts were shown, and how evenly, stays.
        weighted: The weighted table of ``uniform-all``.
        strata: Strata with propensities.
        source: Where these come from.
    """
    overlap, cells = judge_overlap(strata, source), strata.cells
    [best] = estimate_policy(weighted, taus=["auto"], levels=Levels(DELTA), method="kl", estimators=("ips",))
    errors = {at.tau: at.error**2 for at in (best.tau_choice.curve if best.tau_choice else ())}
    taus, rows = sorted({*TAUS, best.tau}), _known(strata)
    certain = cells.engine.fetch(rows.agg(**{f"{tau}": _certain(rows, tau) for tau in taus}))[0]
    support = tuple(
        SupportAt(tau, min(share, 1.0), _choice(certain[f"{tau}"], weighted.events), errors[tau])
        for tau, share in zip(taus, supported_shares(weighted, taus), strict=True)
    )
    low, high = weighted.reward_range
    [ips] = best.estimates
    # Without ends, as of very few units, nothing is known of the value.
    width = high - low if ips.lower is None or ips.upper is None else ips.upper - ips.lower
    none = tuple(MoreLog(gain, None) for gain in GAINS)
    blind = (high - low) * (1 - overlap.choice)
    power = Power(best.tau, overlap.choice, None, none, sampling=width, blind=blind)
    effective = overlap.effective_actions
    return replace(counted, effective_actions=effective, support=support, overlap=overlap), power


def _known(strata: Strata) -> ir.Table:
    """Return the strata whose propensity is known."""
    table = strata.table
    return table.filter(table[PROPENSITY].notnull(), table[PROPENSITY] > 0)


def _certain(rows: ir.Table, tau: float) -> ir.Value:
    """Return the sum of events, by weight, on which one action has a propensity above 1 - tau."""
    p = rows[PROPENSITY]
    return (p > 1 - tau).ifelse(rows.n / p, 0.0).sum()


def _choice(certain: float | None, events: float) -> float:
    """Return the share of events on which no action is all but certain."""
    return min(max(1 - float(certain or 0.0) / events, 0.0), 1.0)
