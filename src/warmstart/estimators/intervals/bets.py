"""Betting confidence interval with constant bets: its width depends on the coefficients present, not on 1 / tau.

The terms are c * reward, rewards in [0, 1], and p = sum(c * mean reward) / sum(c) is their expectation, relative to
what rewards of 1 would give. For any L fixed beforehand with L * c * p < 1 the product over events of

    1 + L * c * (reward - p)

has expectation at most 1, whatever the order and however unequal the means: the factors' expectations are positive with
an arithmetic mean of 1, and the geometric mean is no larger. So the product exceeds 2 / delta with probability at most
delta / 2 (Markov), and every p for which it does is ruled out from below. The upper end is the lower end of the rewards
1 - r, so that the interval does not depend on where a reward has its origin or which way it counts; no other method
here has that. A reward between 0 and 1 counts as that part of a 1: logarithms are concave, so bets only lose by it.

Each p is tested with bets of its own, planned from coefficients and p alone, never from rewards: the bet of the
Chernoff bound for (sum c)^2 / sum c^2 events of the typical coefficient sum(c^2) / sum(c), a quarter and four times of
it, in case rewards prefer small or large coefficients. If all coefficients are equal the first is that bound itself.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators.intervals.bisection import STEPS, last_ruled_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Coefficients, Ends, TermSums

    Floats = NDArray[np.float64]

FACTORS, WEIGHTS = np.array([0.25, 1.0, 4.0]), np.array([0.1, 0.8, 0.1])
# Shares p are tested in spans of this ratio of p / (1 - p), with the same bets inside a span.
SPAN, SPANS = 1.2, 120
# No bet risks more than this share on one event.
MOST_AT_RISK = 0.99
# Beyond so many standard deviations nothing happens.
FAR = 40.0


def bets_ends(terms: TermSums, delta: float) -> Ends:
    """Return the betting confidence interval; each end fails with probability at most delta / 2."""
    most = terms.range_total / terms.events
    if terms.largest <= 0 or terms.range_square_total <= 0:
        return 0.0, most
    if terms.coefficients is None:
        raise ValueError("bets need to know how rewards spread over coefficients")
    limit = math.log(2 / delta)
    below, above = (lower_share(part, limit) for part in (terms.coefficients, terms.coefficients.flipped))
    return most * below, most * (1 - above)


def lower_share(coefficients: Coefficients, limit: float) -> float:
    """Return the first p = sum(c * mean reward) / sum(c) that the bets do not rule out.

    Args:
        coefficients: Events and rewards by coefficient.
        limit: The logarithm of what the bets must win: ln(2 / delta).
    """
    present = (coefficients.values > 0) & (coefficients.events > 0)
    c, n, s = (part[present] for part in (coefficients.values, coefficients.events, coefficients.rewards))
    others, typical = n - s, (c * c * n).sum() / (c * n).sum()
    effective, largest = (c * n).sum() / typical, float(c.max())

    def is_ruled_out(bets: Floats, logit: float) -> bool:
        p, q = share_of(logit), share_of(-logit)
        logs = np.log1p(np.outer(bets, c * q)) @ s + np.log1p(np.outer(-bets, c * p)) @ others
        return log_mean(logs, WEIGHTS) >= limit

    logits = math.log(SPAN) * np.arange(-SPANS, SPANS + 1.0)
    planned = np.outer(chernoff_bets(logits, effective, limit) / typical, FACTORS)
    planned = np.minimum(planned, MOST_AT_RISK / (largest * share_of(logits)[:, None]))
    ruled_out = -math.inf
    for until, bets in zip(logits.tolist(), planned, strict=True):
        if not is_ruled_out(bets, until):
            if ruled_out == -math.inf:
                return 0.0
            ruled_out = last_ruled_out(partial(is_ruled_out, bets), ruled_out, until)
            break
        ruled_out = until
    return float(share_of(ruled_out))


def share_of(logit: Floats | float) -> Floats:
    """Return the share whose logit this is."""
    shares: Floats = 1 / (1 + np.exp(-np.asarray(logit)))
    return shares


def chernoff_bets(logits: Floats, events: float, limit: float) -> Floats:
    """Return the bets that are best where a share p is only just ruled out, if all coefficients were 1.

    The mean x above p at which events * KL(x || p) is the limit; then L = (x - p) / (p * (1 - p)).
    """
    p, q, allowed = share_of(logits), share_of(-logits), limit / events
    near, far = p, np.ones_like(p)
    for _ in range(STEPS):
        middle = (near + far) / 2
        rest = np.maximum(1 - middle, 1e-300)
        inside = middle * np.log(middle / p) + rest * np.log(rest / q) <= allowed
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    bets: Floats = (near - p) / (p * q)
    return bets


def log_mean(logs: Floats, weights: Floats) -> float:
    """Return the logarithm of the averaged products."""
    top = float(logs.max())
    return top + math.log(float(weights @ np.exp(logs - top)))


def chance_to_win(means: Floats, deviations: Floats, weights: Floats, limit: float) -> float:
    """Return the chance (power) that averaged bets win ``limit``, before any reward is known.

    What each bet wins is taken for normal, and all of them for winning or losing together: they bet on the same events.

    Args:
        means: What each bet is expected to win: the logarithm.
        deviations: The standard deviations of that.
        weights: The bets' weights.
        limit: The logarithm of what they must win together.

    >>> round(chance_to_win(np.array([4.0]), np.array([1.0]), np.array([1.0]), 4.0), 3)
    0.5
    """
    short = last_ruled_out(lambda z: log_mean(means + deviations * z, weights) < limit, -FAR, FAR)
    return NormalDist().cdf(-short)
