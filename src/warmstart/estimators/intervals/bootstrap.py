"""Poisson bootstrap interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends, TermSums


DRAWS, SEED = 2_000, 0


def bootstrap_ends(terms: TermSums, delta: float) -> Ends:
    """Return the percentiles of a Poisson bootstrap over events, weights held fixed.

    Each reward and each event without one is drawn a Poisson(1) number of times; sums of these are Poisson too, so
    rewards by coefficient are all it takes. Approximate: with few rewards it is too narrow.
    """
    spread = terms.coefficients
    if spread is None:
        raise ValueError("the bootstrap needs to know how rewards spread over coefficients")
    rng = np.random.default_rng(SEED)
    rewards = rng.poisson(spread.rewards, size=(DRAWS, len(spread.rewards)))
    others = rng.poisson(max(terms.events - spread.rewards.sum(), 0.0), size=DRAWS)
    means = rewards @ np.sqrt(spread.low * spread.high) / np.maximum(rewards.sum(axis=1) + others, 1)
    lower, upper = np.quantile(means, [delta / 2, 1 - delta / 2])
    return float(lower), float(upper)
