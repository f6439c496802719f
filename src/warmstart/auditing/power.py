"""What the log could prove, and what more log would add."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from warmstart.core.audit import MoreLog, Power
from warmstart.value import estimate_value

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells
    from warmstart.policy import Policy

DELTA = 0.05
CHANCE = 0.8
GAINS = (0.05, 0.10)


def detectable(variance: float, events: float) -> float:
    """Return the smallest mean difference that is proven with a chance of 80 %, from the sum of variances.

    >>> round(detectable(100, 1000), 4)
    0.028
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - DELTA / 2) + normal.inv_cdf(CHANCE)) * math.sqrt(variance) / events


def relative(gain: float, mean: float, reward_range: tuple[float, float]) -> float | None:
    """Return a gain in rewards of [0, 1] as a share of a mean, on the log's own scale; None if the mean is not > 0.

    >>> relative(0.1, 0.5, (0.0, 1.0)), relative(0.1, 0.5, (-1.0, 1.0))
    (0.2, None)
    """
    low, high = reward_range
    base = low + (high - low) * mean
    return gain * (high - low) / base if base > 0 else None


def power(cells: Cells, uniform: Policy, *, tau: float) -> Power:
    """Say what a policy must gain over logging to be proven better, and where the rest of the doubt comes from.

    A policy that takes action a in context x differs from logging by u = 1 / p - 1 on a and by -1 elsewhere, so that
    the variance of its gain is reward^2 * sum of n_x * (1 / p - 1); a typical policy takes any supported action.
    """
    found = cells.engine.fetch(_contested(cells, tau))[0]
    window = cells.evaluated.window
    contested = found["n"] or 0.0
    scale = cells.evaluated.log.reward_range
    gain = None
    if contested and found["rewards"]:
        gain = relative(detectable(found["variance"], contested), found["rewards"] / contested, scale)
    estimate = estimate_value(uniform, cells, taus=[tau], delta=DELTA)[0]
    sampling = estimate.upper - estimate.lower
    blind = (estimate.certified_upper or 0.0) - estimate.upper
    times = tuple(MoreLog(target, None if gain is None else (gain / target) ** 2) for target in GAINS)
    return Power(tau, contested / window.events, gain, times, sampling, max(blind, 0.0))


def _contested(cells: Cells, tau: float) -> ir.Table:
    table = cells.table
    propensity = table.n / table.context_n
    supported = propensity >= tau
    contexts = table.group_by(*cells.columns.context_keys).agg(
        n=table.context_n.max(),
        rewards=table.context_reward_sum.max(),
        squares=table.context_reward_sq_sum.max(),
        actions=supported.cast("float64").sum(),
        odds=supported.ifelse(1.0 / propensity - 1.0, 0.0).sum(),
    )
    contexts = contexts.filter(contexts.actions >= 2)
    return contexts.agg(
        n=contexts.n.sum(),
        rewards=contexts.rewards.sum(),
        variance=(contexts.squares * contexts.odds / contexts.actions).sum(),
    )
