"""Relative-entropy Chernoff interval (Chernoff 1952, Hoeffding 1963 Theorem 1), as in the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from warmstart.estimators.intervals.bisection import last_ruled_out

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends, TermSums


# Means may be tiny beside the bound, so that bisection takes long to reach the last digit.
STEPS = 200


def kl_ends(terms: TermSums, delta: float) -> Ends:
    """Return the relative-entropy Chernoff interval, the paper's: T * KL(V / bound || q / bound) <= ln(2 / delta)."""
    if terms.bound <= 0:
        return 0.0, 0.0
    mean = min(terms.mean / terms.bound, 1.0)
    allowed = math.log(2 / delta) / terms.events

    def ruled_out(q: float) -> bool:
        return relative_entropy(mean, q) > allowed

    lower, upper = (last_ruled_out(ruled_out, end, mean, steps=STEPS) for end in (0.0, 1.0))
    return terms.bound * lower, terms.bound * upper


def relative_entropy(p: float, q: float) -> float:
    """Return KL(p || q) of two coins, in nats."""
    if p in (0.0, 1.0) and p == q:
        return 0.0
    heads = p * math.log(p / q) if p > 0 and q > 0 else (0.0 if p == 0 else math.inf)
    tails = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 and q < 1 else (0.0 if p == 1 else math.inf)
    return heads + tails
