"""The value with propensities that do not come from counting the evaluated window: modelled, borrowed or logged ones.

Contexts need not repeat, so what is supported is not seen action by action: shares of traffic are themselves estimated,
as sums of weights (an action that could not be shown leaves them short of the traffic that is decided). Nothing is
certified: the error of the propensities is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.names import PROBABILITY, PROPENSITY
from warmstart.estimators.estimate import self_normalised
from warmstart.estimators.intervals import Coefficients, TermSums, interval, normal_ends
from warmstart.estimators.sums import WeightedSums, coefficient_bins, divided
from warmstart.estimators.tau import choose_tau
from warmstart.results.estimate import Gain, Support, ValueEstimate

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells
    from warmstart.policy import Policy
    from warmstart.results.interval import IntervalName
    from warmstart.results.tau import Tau


MIDDLING_TAU = 0.05


@dataclass(frozen=True)
class OutsideSums:
    """What one policy at one tau adds up to, weighted with propensities from outside."""

    matched: float
    decided: float
    logging: float
    reward: float
    reward_sq: float
    weight: float
    weight_sq: float
    largest: float
    supported: float
    clipped: float
    difference_sq: float


def estimate_outside(
    policy: Policy,
    cells: Cells,
    strata: ir.Table,
    *,
    taus: Sequence[Tau],
    delta: float,
    method: IntervalName,
    looks: int,
) -> list[ValueEstimate]:
    """Estimate what a policy would have earned, with the propensities of strata, one estimate a tau.

    A tau of "auto" is chosen with the mean reward of what the policy matched: nothing is certified here, so the
    evaluated rewards may have a say.
    """
    rows = cells.engine.materialise(weighed_rows(policy.on(cells), strata, cells))
    try:
        estimates = []
        for asked in taus:
            choice = choose_tau(rows, cells, PROPENSITY, _rate(rows, cells)) if asked == "auto" else None
            tau = choice.tau if choice is not None else float(asked)
            sums = _fetch(rows, cells, tau)
            terms = _terms(rows, cells, sums, tau)
            ends, joint = (interval(terms, delta=level, method=method) for level in (delta, delta / looks))
            decided = min(sums.decided / terms.events, 1.0)
            supported = min(sums.supported / terms.events, decided)
            clipped = min(sums.clipped / terms.events, decided - supported)
            estimate = ValueEstimate(
                policy=policy.name,
                tau=tau,
                value=terms.mean,
                lower=ends.lower,
                upper=ends.upper,
                delta=delta,
                interval=method,
                guarantee="approximate",
                joint_lower=joint.lower,
                joint_upper=joint.upper,
                events=round(terms.events),
                matched=round(sums.matched),
                effective_sample_size=sums.weight**2 / sums.weight_sq if sums.weight_sq > 0 else 0.0,
                support=Support(supported, clipped, decided - supported - clipped, 1 - decided),
                certified_lower=None,
                certified_upper=None,
                gain=_gain(sums, terms.events, delta),
                weight_ratio=None,
                propensity_error=None,
                tau_choice=choice,
                estimates=self_normalised(
                    WeightedSums(sums.reward, sums.reward_sq, sums.weight, sums.weight_sq, sums.largest), delta
                ),
            )
            estimates.append(estimate.scaled(cells.evaluated.log.reward_range))
        return estimates
    finally:
        rows.release()


def weighed_rows(choices: ir.Table, strata: ir.Table, cells: Cells) -> ir.Table:
    """Return the strata of all decided contexts: n, rewards, propensity, h (0 if not chosen), and h summed over x."""
    contexts, keys = list(cells.columns.context_keys), list(cells.columns.keys)
    by_context = choices.group_by(*contexts).agg(share=choices[PROBABILITY].sum())
    rows = strata.join(by_context, contexts)
    rows = rows.left_join(choices.select(*keys, h=choices[PROBABILITY]), keys)
    own = ["n", "reward_sum", "reward_sq_sum", PROPENSITY, "share"]
    return rows.select(*keys, *own, h=rows.h.coalesce(0.0))


def _fetch(rows: ir.Table, cells: Cells, tau: float) -> OutsideSums:
    p, h = rows[PROPENSITY], rows.h
    c, free = divided(h, p, tau), divided(h, p, 0.0)
    u = c - rows.share
    supported = (p >= tau).fill_null(False)
    sums: dict[str, ir.Value] = {
        "matched": (h > 0).ifelse(rows.n, 0.0).sum(),
        "decided": (rows.share * rows.n).sum(),
        "logging": (rows.share * rows.reward_sum).sum(),
        "reward": (c * rows.reward_sum).sum(),
        "reward_sq": (c * c * rows.reward_sq_sum).sum(),
        "weight": (c * rows.n).sum(),
        "weight_sq": (c * c * rows.n).sum(),
        "largest": c.max(),
        "supported": supported.ifelse(free * rows.n, 0.0).sum(),
        "clipped": supported.ifelse(0.0, free * rows.n).sum(),
        "difference_sq": (u * u * rows.reward_sq_sum).sum(),
    }
    found: dict[str, Any] = cells.engine.fetch(rows.agg(**sums))[0]
    return OutsideSums(**{name: float(value or 0.0) for name, value in found.items()})


def _rate(rows: ir.Table, cells: Cells) -> float | None:
    """Return the mean reward of what the policy would choose, self-normalised; None where there is none above zero."""
    c = divided(rows.h, rows[PROPENSITY], MIDDLING_TAU)
    found = cells.engine.fetch(rows.agg(reward=(c * rows.reward_sum).sum(), weight=(c * rows.n).sum()))[0]
    return float(found["reward"]) / float(found["weight"]) if found["weight"] and found["reward"] else None


def _terms(rows: ir.Table, cells: Cells, sums: OutsideSums, tau: float) -> TermSums:
    fetched = cells.engine.fetch(coefficient_bins(rows, PROPENSITY, tau))
    bins, rewards = ([row[name] for row in fetched] for name in ("bin", "rewards"))
    return TermSums(
        events=float(cells.evaluated.window.events),
        total=sums.reward,
        square_total=sums.reward_sq,
        range_total=sums.weight,
        range_square_total=sums.weight_sq,
        largest=sums.largest,
        bound=1 / tau,
        coefficients=Coefficients.of_bins(np.array(bins, dtype=np.int64), np.array(rewards, dtype=np.float64)),
    )


def _gain(sums: OutsideSums, events: float, delta: float) -> Gain:
    """Compare with logging on all decided traffic: what is clipped or not supported counts against the policy."""
    share = min(sums.decided / events, 1.0)
    if sums.decided <= 0 or sums.supported <= 0:
        return Gain(share, share, None, None, None, None, None, "approximate")
    value, logging = sums.reward / sums.decided, sums.logging / sums.decided
    lower, upper = normal_ends(value - logging, sums.difference_sq / sums.decided**2, delta)
    return Gain(share, share, value, logging, value - logging, lower, upper, "approximate")
