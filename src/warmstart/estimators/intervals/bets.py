"""Betting confidence interval with constant bets: its width depends on the coefficients present, not on 1 / tau.

If the mean of the expected terms were m, the product over events of 1 + L * (term - m) would have expectation at most 1
for any L fixed beforehand, whatever the order and however unequal the terms (the mean of logarithms is at most the
logarithm of the mean). So it exceeds 2 / delta with probability at most delta / 2, and every m for which it does is
ruled out. Each m is tested with bets of its own, planned from the coefficients and from m alone, never from rewards:
the bet that the paper's Chernoff bound makes if every reward had the typical coefficient sum(c^2) / sum(c), and
a quarter and four times of it, in case rewards prefer small or large coefficients. Where all coefficients are equal the
first of them is that bound itself.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from warmstart.estimators.intervals.bisection import STEPS, last_ruled_out
from warmstart.estimators.intervals.terms import RATIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Coefficients, Ends, TermSums

    Floats = NDArray[np.float64]

FACTORS, WEIGHTS = np.array([0.25, 1.0, 4.0]), np.array([0.1, 0.8, 0.1])
# Means are tested in spans of this ratio, with the same bets inside a span; below the last one, with its bets.
SPAN, SPANS = 1.2, 120
# No bet risks more than this share on one event.
MOST_AT_RISK = 0.99


def bets_ends(terms: TermSums, delta: float) -> Ends:
    """Return the betting confidence interval; each end fails with probability at most delta / 2."""
    most = terms.range_total / terms.events
    if terms.largest <= 0 or terms.range_square_total <= 0:
        return 0.0, most
    spans = most * SPAN ** np.arange(-SPANS, 1.0)
    limit = math.log(2 / delta)
    return float(_lower(terms, spans, limit)), float(_upper(terms, spans, limit))


def _lower(terms: TermSums, spans: Floats, limit: float) -> float:
    spread, nothing = _spread(terms)

    def evidence(m: float, bets: Floats) -> float:
        able = bets * m < 1
        logs = np.log1p(bets[able, None] * (spread.low - m)) @ spread.rewards + nothing * np.log1p(-bets[able] * m)
        return log_mean(logs, WEIGHTS[able])

    planned = np.outer(_chernoff_bets(spans, terms, limit, above=True), FACTORS)
    ruled_out = 0.0
    for until, bets in zip(spans, planned, strict=True):
        if evidence(until, bets) < limit:
            return last_ruled_out(partial(_enough, evidence, bets, limit), ruled_out, until)
        ruled_out = until
    return ruled_out


def _upper(terms: TermSums, spans: Floats, limit: float) -> float:
    spread, nothing = _spread(terms)

    def evidence(m: float, bets: Floats) -> float:
        logs = np.log1p(-bets[:, None] * (spread.high - m)) @ spread.rewards + nothing * np.log1p(bets * m)
        return log_mean(logs, WEIGHTS)

    *below, most = spans.tolist()
    ruled_out: float = most
    planned = np.outer(_chernoff_bets(np.array(below), terms, limit, above=False), FACTORS)
    for since, bets in zip(below[::-1], planned[::-1], strict=True):
        safe = np.minimum(bets, MOST_AT_RISK / (RATIO * terms.largest - since))
        if evidence(since, safe) < limit:
            return last_ruled_out(partial(_enough, evidence, safe, limit), ruled_out, since)
        ruled_out = since
    return ruled_out


def _spread(terms: TermSums) -> tuple[Coefficients, float]:
    if terms.coefficients is None:
        raise ValueError("bets need to know how rewards spread over coefficients")
    return terms.coefficients, terms.events - float(terms.coefficients.rewards.sum())


def _enough(evidence: Callable[[float, Floats], float], bets: Floats, limit: float, m: float) -> bool:
    return evidence(m, bets) >= limit


def _chernoff_bets(means: Floats, terms: TermSums, limit: float, *, above: bool) -> Floats:
    """Return the bets that are best where a mean m is only just ruled out, if all terms were 0 or of one size.

    The mean x at which T * KL(x / size || m / size) is the limit; then L = |x - m| / (m * (size - m)).
    """
    size, allowed = terms.range_square_total / terms.range_total, limit / terms.events
    p = np.minimum(means / size, 1 - 1e-9)
    near, far = p, np.full_like(p, 1 - 1e-15 if above else 1e-300)
    for _ in range(STEPS):
        middle = (near + far) / 2
        entropy = middle * np.log(middle / p) + (1 - middle) * np.log((1 - middle) / (1 - p))
        near, far = np.where(entropy <= allowed, middle, near), np.where(entropy <= allowed, far, middle)
    bets: Floats = np.abs(near - p) / (p * (1 - p) * size)
    return bets


def log_mean(logs: Floats, weights: Floats) -> float:
    """Return the logarithm of the averaged products; bets that cannot be played count as nothing."""
    if not len(logs):
        return -math.inf
    top = float(logs.max())
    return top + math.log(float(weights @ np.exp(logs - top)))
