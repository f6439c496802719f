"""Studentised Poisson bootstrap (bootstrap-t) interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Ends, TermSums

    Floats = NDArray[np.float64]

DRAWS, SEED = 2_000, 0


def bootstrap_ends(terms: TermSums, delta: float) -> Ends:
    """Return the studentised bootstrap (bootstrap-t) interval over events, or units, weights held fixed; approximate.

    V - se * quantiles of (V* - V) / se*, where se is the standard error of V. Each reward and each event without one is
    drawn a Poisson(1) number of times; sums of these are Poisson too, so rewards by coefficient are all it takes. Large
    coefficients may have had no reward yet, so that the upper end has one reward more, as in Fay and Feuer's gamma
    interval: they place it at the largest coefficient, here it is at the geometric mean of that and a typical one.

    In 20 simulated windows of 9,000 events its ends missed 1.3 and 2.1 % on average at delta .05, at the most 2.0 and
    2.8 % (1,500 draws each); without that reward the upper end missed up to 3.7 %, percentiles of V* up to 5.5 %.
    """
    rewards, coefficients, typical, largest = _earning(terms)
    powers = np.stack([np.ones_like(coefficients), coefficients, coefficients**2], axis=1)
    more = math.sqrt(typical * largest) ** np.arange(3.0)
    rng = np.random.default_rng(SEED)
    window, drawn = rewards @ powers, rng.poisson(rewards, size=(DRAWS, len(rewards))).astype(float) @ powers
    others = rng.poisson(max(terms.events - rewards.sum(), 0.0), size=DRAWS)
    lower = _end(window, drawn, others, terms.events, 1 - delta / 2)
    drawn_more = drawn + np.outer(rng.poisson(1.0, size=DRAWS), more)
    return lower, _end(window + more, drawn_more, others, terms.events, delta / 2)


def _earning(terms: TermSums) -> tuple[Floats, Floats, float, float]:
    """Return how many terms there are of each size, the sizes, and a typical and the largest one.

    Events have a term if they are rewarded, its coefficient; units if any of their events is, their total.
    """
    if terms.units is not None:
        sizes = terms.units.size * terms.units.earned
        typical = terms.square_total / terms.total if terms.total > 0 else 0.0
        return np.where(sizes > 0, terms.units.units, 0.0), sizes, typical, terms.heaviest or 0.0
    if terms.coefficients is None:
        raise ValueError("the bootstrap needs to know how rewards spread over coefficients")
    typical = terms.range_square_total / terms.range_total if terms.range_total > 0 else 0.0
    return terms.coefficients.rewards, terms.coefficients.values, typical, terms.largest


def _end(window: Floats, drawn: Floats, others: NDArray[np.int64], events: float, share: float) -> float:
    """Return V - se * quantile; a draw without a standard error counts for the wider interval.

    Args:
        window: sums over rewards of 1, of their coefficients and of the squares of those.
        drawn: the same of each draw, a row.
        others: events without a reward in each draw.
        events: events of the window.
        share: the quantile; above a half for the lower end.
    """
    widest, round_away = (math.inf, math.ceil) if share > 0.5 else (-math.inf, math.floor)
    mean, error = _mean_and_error(window, np.array(events))
    if error == 0:
        return -widest
    means, errors = _mean_and_error(drawn, np.maximum(drawn[:, 0] + others, 1.0))
    ratios = np.divide(means - mean, errors, out=np.full_like(means, widest), where=errors > 0)
    quantile = np.sort(ratios)[round_away(share * (len(ratios) - 1))]
    return float(mean - error * quantile)


def _mean_and_error(sums: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Return the mean of terms, most of which are zero, and its standard error."""
    _, total, square_total = np.moveaxis(sums, -1, 0)
    mean = total / events
    return mean, np.sqrt(np.maximum(square_total - total * mean, 0.0)) / events
