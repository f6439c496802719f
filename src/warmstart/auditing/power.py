"""What the log could prove, and what more log would add."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators import UNKNOWN, last_ruled_out
from warmstart.events import counted_propensity
from warmstart.results import MoreLog, Power, gain_at

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.auditing.typical_policy import UnitGain
    from warmstart.events import Cells

DELTA = 0.05
CHANCE = 0.8
GAINS = (0.05, 0.10)


def needed_deviations(rate: float, delta: float = DELTA) -> float:
    """Return how many standard deviations from 0 a gain must be for the certified lower end to be above 0.

    Without a training window the bets of a gain are averaged over possible mean rewards b (see intervals.gain_bets). At
    d standard deviations the one for b wins L * d - L^2 / 2 * (1 + (rate - b)^2 / (rate * (1 - rate))) of the
    logarithm, and their mean must win ln(2 / delta): the normal interval's 1.96 is not enough.

    Args:
        rate: The mean reward, between 0 and 1.
        delta: The share of intervals that may miss.

    >>> round(needed_deviations(0.5), 2), round(needed_deviations(0.02), 2)
    (3.4, 3.57)
    """
    limit, variance = math.log(2 / delta), max(rate * (1 - rate), 1e-12)
    bets = np.sqrt(2 * limit * variance / (UNKNOWN * (1 - UNKNOWN)))
    lost = bets * bets / 2 * (1 + (rate - UNKNOWN) ** 2 / variance) + math.log(len(UNKNOWN))
    return last_ruled_out(lambda d: np.logaddexp.reduce(bets * d - lost) < limit, 0.0, 1e6)


def smallest_gain(
    variance: float,
    rewards: float,
    reward_range: tuple[float, float],
    events: float,
    *,
    deviations: float | None = None,
) -> float | None:
    """Return the smallest gain, relative to the mean reward, that is certified with a chance (power) of 80 %.

    An action that earns g more also varies more, by 1 + g at the most: g^2 = c^2 * (1 + g), with c the gain without
    that. None if there is no mean above zero to tell it by, or all rewards are the largest possible.

    Args:
        variance: The sum over events of u^2 * (reward - mean)^2 under logging, u being what the policy adds to their
            weight, for rewards of 0 or 1.
        rewards: Their sum.
        reward_range: The range of the rewards as given.
        events: How many they are.
        deviations: How many standard deviations bets need, if not those of independent events.

    >>> round(smallest_gain(0.2 * 25, 25, (0.0, 1.0), 1000), 3)
    0.476
    """
    low, high = reward_range
    mean = low + (high - low) * rewards / events if events else 0.0
    if rewards <= 0 or mean <= 0 or variance <= 0:
        return None
    needed = needed_deviations(rewards / events) if deviations is None else deviations
    reach = (needed + NormalDist().inv_cdf(CHANCE)) * math.sqrt(variance) / events
    return gain_at(reach * (high - low) / mean)


def power(cells: Cells, *, tau: float, by_unit: UnitGain | None = None) -> Power:
    """Say what a policy must gain over logging to be proven better, and where the rest of the doubt comes from.

    A policy that takes action a in context x differs from logging by u = 1 / p - 1 on a and by -1 elsewhere, so that
    u^2 sums to n_x * (1 / p - 1); a typical policy takes any supported action. Each u^2 is multiplied by the square
    of a reward of 0 or 1 less the mean reward of all, with which bets reckon for rewards in between too. Where events
    have units, the variance is multiplied by the design effect of typical gains, and bets need more deviations.

    Args:
        cells: The cells of the log.
        tau: An action is supported where its propensity is at least this.
        by_unit: What typical policies' gains say of units, if events have them.
    """
    result = cells.engine.fetch(_contested(cells, tau))[0]
    events = cells.evaluated.window.events
    low, high = cells.evaluated.log.reward_range
    contested, rewards = result["n"] or 0.0, result["rewards"] or 0.0
    mean = rewards / contested if contested else 0.0
    variance = max((1 - 2 * mean) * (result["odds_of_rewards"] or 0.0) + mean**2 * (result["odds"] or 0.0), 0.0)
    deviations = needed_deviations(mean)
    if by_unit is not None:
        deviations, variance = max(by_unit.deviations, deviations), variance * by_unit.factor
    gain = smallest_gain(variance, rewards, (low, high), contested, deviations=deviations)
    width = 2 * deviations * math.sqrt(variance) / events
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
        actions=supported.cast("float64").sum(),
        odds=supported.ifelse(1.0 / propensity - 1.0, 0.0).sum(),
    )
    contexts = contexts.filter(contexts.actions >= 2)
    odds = contexts.odds / contexts.actions
    return contexts.agg(
        n=contexts.n.sum(),
        rewards=contexts.rewards.sum(),
        odds=(odds * contexts.n).sum(),
        odds_of_rewards=(odds * contexts.rewards).sum(),
    )
