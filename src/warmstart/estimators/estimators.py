"""Point estimates of the whole, beside the bound: one small function each over the same sums.

With e a weight, f the reward model, D = sum over actions of probability * f in a context, and every sum over events:

    ips        sum(e * r) / T                    never too much in expectation, where propensities are counted
    snips      sum(e * r) / sum(e)               what is not supported earns like the rest
    dm         sum(D) / T                        the model's word
    dr         (sum(D) + sum(e * (r - f))) / T   the model's word, corrected where there is evidence
    switch-dr  dr with e = 0 where the propensity is below tau
    shrunk-dr  dr with e = w / (1 + (tau * w)^2), w = probability / propensity
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators.intervals import normal_ends
from warmstart.results.point_estimate import PointEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weighed:
    """Strata as arrays: events, rewards, squared rewards, propensity, probability, score, and D of their context."""

    n: Floats
    reward_sum: Floats
    reward_sq_sum: Floats
    propensity: Floats
    probability: Floats
    score: Floats
    expected: Floats


@dataclass(frozen=True)
class GuessSums:
    """What one kind of weight e adds up to, with the model's D over all traffic."""

    events: float
    model: float
    model_sq: float
    weight: float
    reward: float
    surprise: float
    reward_sq: float
    rewards_weighted_sq: float
    weight_sq: float
    surprise_sq: float
    crossed: float


def guess_sums(rows: Weighed, e: Floats, *, events: float, model: float, model_sq: float) -> GuessSums:
    """Sum over strata; ``surprise`` is e * (r - f)."""
    surprise = rows.reward_sum - rows.n * rows.score
    squared = rows.reward_sq_sum - 2 * rows.score * rows.reward_sum + rows.n * rows.score**2
    return GuessSums(
        events=events,
        model=model,
        model_sq=model_sq,
        weight=float(e @ rows.n),
        reward=float(e @ rows.reward_sum),
        surprise=float(e @ surprise),
        reward_sq=float((e * e) @ rows.reward_sq_sum),
        rewards_weighted_sq=float((e * e) @ rows.reward_sum),
        weight_sq=float((e * e) @ rows.n),
        surprise_sq=float((e * e) @ squared),
        crossed=float((rows.expected * e) @ surprise),
    )


def clipped(rows: Weighed, tau: float) -> Floats:
    """Return probability / max(propensity, tau)."""
    return rows.probability / np.maximum(rows.propensity, tau)


def switched(rows: Weighed, tau: float) -> Floats:
    """Return probability / propensity, or nothing where that is below tau."""
    kept: Floats = np.where(rows.propensity >= tau, clipped(rows, tau), 0.0)
    return kept


def shrunk(rows: Weighed, tau: float) -> Floats:
    """Return w / (1 + (tau * w)^2): close to w where it is small, never above 1 / (2 tau)."""
    w = rows.probability / rows.propensity
    less: Floats = w / (1 + (tau * w) ** 2)
    return less


def ips(sums: GuessSums) -> tuple[float, float]:
    """Return the mean of e * r and its variance."""
    value = sums.reward / sums.events
    return value, (sums.reward_sq / sums.events - value**2) / sums.events


def snips(sums: GuessSums) -> tuple[float, float]:
    """Return the weighted mean of r and its variance (of a ratio, linearised)."""
    if sums.weight <= 0:
        return float("nan"), float("nan")
    value = sums.reward / sums.weight
    spread = sums.reward_sq - 2 * value * sums.rewards_weighted_sq + value**2 * sums.weight_sq
    return value, spread / sums.weight**2


def dm(sums: GuessSums) -> tuple[float, float]:
    """Return the mean of D and its variance over contexts; how wrong the model is, it does not tell."""
    value = sums.model / sums.events
    return value, (sums.model_sq / sums.events - value**2) / sums.events


def dr(sums: GuessSums) -> tuple[float, float]:
    """Return the mean of D + e * (r - f) and its variance."""
    value = (sums.model + sums.surprise) / sums.events
    square = sums.model_sq + 2 * sums.crossed + sums.surprise_sq
    return value, (square / sums.events - value**2) / sums.events


Weights = Callable[[Weighed, float], "Floats"]
ESTIMATORS: Mapping[str, tuple[Weights, Callable[[GuessSums], tuple[float, float]]]] = {
    "ips": (clipped, ips),
    "snips": (clipped, snips),
    "dm": (clipped, dm),
    "dr": (clipped, dr),
    "switch-dr": (switched, dr),
    "shrunk-dr": (shrunk, dr),
}


def added_up(name: str, rows: Weighed, *, events: float, model: float, model_sq: float, tau: float) -> GuessSums:
    """Return the sums that an estimator needs."""
    weights, _ = ESTIMATORS[name]
    return guess_sums(rows, weights(rows, tau), events=events, model=model, model_sq=model_sq)


def point_estimate(name: str, sums: GuessSums, *, delta: float) -> PointEstimate:
    """Estimate the value of the whole, with a normal interval."""
    value, variance = ESTIMATORS[name][1](sums)
    return PointEstimate(name, value, *normal_ends(value, variance, delta))
