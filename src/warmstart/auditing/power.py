"""What the log could prove, and what more log would add."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from warmstart.events import counted_propensity
from warmstart.results import MoreLog, Power, gain_at

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

DELTA = 0.05
CHANCE = 0.8
GAINS = (0.05, 0.10)


def smallest_gain(variance: float, rewards: float, reward_range: tuple[float, float], events: float) -> float | None:
    """Return the smallest gain, relative to the mean reward, that is proven with a chance of 80 %.

    ``variance``: the sum over events of u^2 * reward^2 under logging, u being what the policy adds to their weight. An
    action that earns g more also varies more, by 1 + g at the most: g^2 = c^2 * (1 + g), with c the gain without that.
    None if there is no mean above zero to tell it by.

    >>> round(smallest_gain(0.2 * 25, 25, (0.0, 1.0), 1000), 3)
    0.284
    """
    low, high = reward_range
    mean = low + (high - low) * rewards / events if events else 0.0
    if rewards <= 0 or mean <= 0:
        return None
    normal = NormalDist()
    reach = (normal.inv_cdf(1 - DELTA / 2) + normal.inv_cdf(CHANCE)) * math.sqrt(variance) / events
    return gain_at(reach * (high - low) / mean)


def power(cells: Cells, *, tau: float) -> Power:
    """Say what a policy must gain over logging to be proven better, and where the rest of the doubt comes from.

    A policy that takes action a in context x differs from logging by u = 1 / p - 1 on a and by -1 elsewhere, so that
    the variance of its gain is reward^2 * sum of n_x * (1 / p - 1); a typical policy takes any supported action.
    """
    found = cells.engine.fetch(_contested(cells, tau))[0]
    events = cells.evaluated.window.events
    low, high = cells.evaluated.log.reward_range
    contested, variance = found["n"] or 0.0, found["variance"] or 0.0
    gain = smallest_gain(variance, found["rewards"] or 0.0, (low, high), contested)
    width = 2 * NormalDist().inv_cdf(1 - DELTA / 2) * math.sqrt(variance) / events
    share = contested / events
    times = tuple(MoreLog(target, None if gain is None else _times(gain, target)) for target in GAINS)
    return Power(tau, share, gain, times, sampling=(high - low) * width, blind=(high - low) * (1 - share))


def _times(gain: float, target: float) -> float:
    """Return how many times the log would bring the smallest gain down to a target: c shrinks with the root."""
    return (gain**2 / (1 + gain)) / (target**2 / (1 + target))


def _contested(cells: Cells, tau: float) -> ir.Table:
    table = cells.table
    propensity = counted_propensity(table)
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
