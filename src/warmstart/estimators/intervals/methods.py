"""Intervals for the expected value given contexts and actions.

Given contexts and actions, the terms ``coefficient * reward`` of the mean are independent, not identical, each in
[0, its coefficient]; Hoeffding (1963) covers that case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from warmstart.core.errors import UsageError
from warmstart.core.text import quoted
from warmstart.estimators.intervals.bets import Coefficients, bets_ends
from warmstart.results import Guarantee, Interval, IntervalName


@dataclass(frozen=True)
class TermSums:
    """What an interval needs to know about the T terms of a mean.

    ``total``: sum of the terms; ``square_total``: of their squares; ``range_total, range_square_total``: of their
    coefficients and the squares of those; ``largest``: the largest coefficient present; ``bound``: what no coefficient
    exceeds, known beforehand (1 / tau). ``coefficients``, for bets: where the rewards lie.
    """

    events: float
    total: float
    square_total: float
    range_total: float
    range_square_total: float
    largest: float
    bound: float
    coefficients: Coefficients | None = None

    @property
    def mean(self) -> float:
        """Return the mean term: the value."""
        return self.total / self.events


Ends = tuple[float, float]
BOOTSTRAP_DRAWS, BOOTSTRAP_SEED = 2_000, 0


def interval(terms: TermSums, *, delta: float = 0.05, method: IntervalName = "bets") -> Interval:
    """Bound the expectation of a mean of independent terms. Rewards are at most 1, so it is at most the mean range."""
    if method not in METHODS:
        raise UsageError(f"There is no interval {quoted(method)}.", f"Choose one of {', '.join(METHODS)}.")
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie between 0 and 1, and is {delta}.")
    compute, guarantee = METHODS[method]
    lower, upper = compute(terms, delta)
    most = terms.range_total / terms.events
    return Interval(max(lower, 0.0), max(min(upper, most), terms.mean), delta, method, guarantee)


def kl_ends(terms: TermSums, delta: float) -> Ends:
    """Relative-entropy Chernoff, the paper's: T * KL(V / bound || q / bound) <= ln(2 / delta)."""
    mean = min(terms.mean / terms.bound, 1.0)
    allowed = math.log(2 / delta) / terms.events
    return terms.bound * _kl_end(mean, 0.0, allowed), terms.bound * _kl_end(mean, 1.0, allowed)


def hoeffding_ends(terms: TermSums, delta: float) -> Ends:
    """Hoeffding with each term's own range: V -+ sqrt(ln(2 / delta) * sum of coefficient^2 / 2) / T."""
    reach = math.sqrt(math.log(2 / delta) * terms.range_square_total / 2) / terms.events
    return terms.mean - reach, terms.mean + reach


def bernstein_ends(terms: TermSums, delta: float) -> Ends:
    """Empirical Bernstein (Maurer and Pontil 2009, Theorem 4), with the largest coefficient present as range.

    Each end fails where the mean or the variance strays: half of delta over two statements, hence ln(4 / delta). Their
    proof needs independent terms only: the mean of unequal variances is at most the expected sample variance.
    """
    events, mean = terms.events, terms.mean
    if events < 2:
        return 0.0, terms.bound
    log = math.log(4 / delta)
    variance = max(terms.square_total - events * mean**2, 0.0) / (events - 1)
    reach = math.sqrt(2 * variance * log / events) + 7 * terms.largest * log / (3 * (events - 1))
    return mean - reach, mean + reach


def gamma_ends(terms: TermSums, delta: float) -> Ends:
    """Gamma interval for directly standardised rates (Fay and Feuer 1997); approximate."""
    from scipy.special import gammaincinv

    def quantile(share: float, total: float, square_total: float) -> float:
        return float(gammaincinv(total**2 / square_total, share)) * square_total / total

    total, square_total, largest = terms.total, terms.square_total, terms.largest
    lower = quantile(delta / 2, total, square_total) if total > 0 else 0.0
    upper = quantile(1 - delta / 2, total + largest, square_total + largest**2) if largest > 0 else 0.0
    return lower / terms.events, upper / terms.events


def bootstrap_ends(terms: TermSums, delta: float) -> Ends:
    """Poisson bootstrap over events, weights held fixed: the percentiles of what other rewards would have given.

    Each reward and each event without one is drawn a Poisson(1) number of times; sums of these are Poisson too, so
    rewards by coefficient are all it takes. Approximate: with few rewards it is too narrow.
    """
    found = terms.coefficients
    if found is None:
        raise ValueError("the bootstrap needs to know how rewards spread over coefficients")
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    rewards = rng.poisson(found.rewards, size=(BOOTSTRAP_DRAWS, len(found.rewards)))
    others = rng.poisson(max(terms.events - found.rewards.sum(), 0.0), size=BOOTSTRAP_DRAWS)
    means = rewards @ np.sqrt(found.low * found.high) / np.maximum(rewards.sum(axis=1) + others, 1)
    lower, upper = np.quantile(means, [delta / 2, 1 - delta / 2])
    return float(lower), float(upper)


METHODS: Mapping[str, tuple[Callable[[TermSums, float], Ends], Guarantee]] = {
    "kl": (kl_ends, "finite-sample"),
    "hoeffding": (hoeffding_ends, "finite-sample"),
    "bernstein": (bernstein_ends, "finite-sample"),
    "bets": (bets_ends, "finite-sample"),
    "gamma": (gamma_ends, "approximate"),
    "bootstrap": (bootstrap_ends, "approximate"),
}
NEED_COEFFICIENTS = ("bets", "bootstrap")


def normal_ends(mean: float, variance: float, delta: float) -> Ends:
    """Return mean -+ z * sd; approximate."""
    reach = -NormalDist().inv_cdf(delta / 2) * math.sqrt(max(variance, 0.0))
    return mean - reach, mean + reach


def relative_entropy(p: float, q: float) -> float:
    """Return KL(p || q) of two coins, in nats."""
    if p in (0.0, 1.0) and p == q:
        return 0.0
    heads = p * math.log(p / q) if p > 0 and q > 0 else (0.0 if p == 0 else math.inf)
    tails = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 and q < 1 else (0.0 if p == 1 else math.inf)
    return heads + tails


def _kl_end(mean: float, far: float, allowed: float) -> float:
    """Find by bisection the point between the mean and an end of [0, 1] where the entropy is used up."""
    if relative_entropy(mean, far) <= allowed:
        return far
    near = mean
    for _ in range(200):
        middle = (near + far) / 2
        if middle in (near, far):
            break
        if relative_entropy(mean, middle) <= allowed:
            near = middle
        else:
            far = middle
    return far
