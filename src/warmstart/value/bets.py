"""Constant bets: an interval that pays for the coefficients that are there, not for the largest there could be.

If the mean of the expected terms were m, the product over events of 1 + L * (term - m) would have expectation at most 1
for any fixed L, whatever the order and however unequal the terms (the mean of logarithms is at most the logarithm of
the mean). So it exceeds 2 / delta with probability at most delta / 2, and every m for which it does is ruled out. A few
L are tried at once, their products averaged. They are chosen from coefficients and a reward rate that was known
before, never from the window's rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warmstart.value.intervals import TermSums

# Coefficients are told apart by this ratio; each end rounds them to its own disadvantage.
RATIO = 1.0005
# With a reward rate from training, three bets; without one, a ladder of rates.
KNOWN, KNOWN_WEIGHTS = (0.25, 1.0, 4.0), (0.25, 0.5, 0.25)
UNKNOWN = tuple(4.0**-k for k in range(7))
# No bet risks more than this share on one event.
MOST_AT_RISK = 0.9
STEPS = 60


@dataclass(frozen=True, eq=False)
class Coefficients:
    """How rewards spread over coefficients: ``rewards[i]`` of them at coefficients between low[i] and high[i]."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rewards: NDArray[np.float64]

    @classmethod
    def of_bins(cls, bins: NDArray[np.int64], rewards: NDArray[np.float64]) -> Coefficients:
        """Read bins of the logarithm to the base RATIO."""
        margin, powers = 1e-12, bins.astype(np.float64)
        low, high = np.power(RATIO, powers), np.power(RATIO, powers + 1)
        return cls(low * (1 - margin), high * (1 + margin), rewards)


def bets_ends(terms: TermSums, delta: float) -> tuple[float, float]:
    """Return the ends; each fails with probability at most delta / 2."""
    found = terms.coefficients
    if found is None:
        raise ValueError("bets need to know how rewards spread over coefficients")
    most = terms.range_total / terms.events
    if terms.largest <= 0 or terms.range_square_total <= 0:
        return 0.0, most
    bets, weights = _planned(terms, delta)
    limit = math.log(2 / delta)
    nothing = terms.events - found.rewards.sum()

    def against_less(m: float) -> float:
        able = bets * m < 1
        played = bets[able, None]
        logs = np.log1p(played * (found.low - m)) @ found.rewards + nothing * np.log1p(-bets[able] * m)
        return _log_mean(logs, weights[able])

    capped = np.minimum(bets, MOST_AT_RISK / terms.largest)

    def against_more(m: float) -> float:
        logs = np.log1p(-capped[:, None] * (found.high - m)) @ found.rewards + nothing * np.log1p(capped * m)
        return _log_mean(logs, weights)

    lower = _last(lambda m: against_less(m) >= limit, 0.0, terms.mean)
    upper = _last(lambda m: against_more(m) >= limit, most, terms.mean)
    return lower, upper


def _planned(terms: TermSums, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bet what is best at the distance that would just be proven, if rewards came at a certain rate."""
    rates = UNKNOWN if terms.rate is None else tuple(terms.rate * factor for factor in KNOWN)
    weights = np.full(len(rates), 1 / len(rates)) if terms.rate is None else np.array(KNOWN_WEIGHTS)
    variance = np.array(rates) * terms.range_square_total / terms.events
    return np.sqrt(2 * math.log(2 / delta) / (terms.events * variance)), weights


def _log_mean(logs: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the logarithm of the averaged products; bets that cannot be played count as nothing."""
    if not len(logs):
        return -math.inf
    top = float(logs.max())
    return top + math.log(float(weights @ np.exp(logs - top)))


def _last(ruled_out: Callable[[float], bool], start: float, mean: float) -> float:
    """Find by bisection the point nearest the mean, coming from an end, that is still ruled out; the end if none is."""
    if not ruled_out(start):
        return start
    out, kept = start, mean
    for _ in range(STEPS):
        middle = (out + kept) / 2
        if middle in (out, kept):
            break
        if ruled_out(middle):
            out = middle
        else:
            kept = middle
    return out
