"""Epsilon-greedy exploration: draw actions with known probabilities (propensities to log)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warmstart.core import UsageError, quoted


class Explored(NamedTuple):
    """A drawn action, its probability (the propensity to log), and the scores of all candidates."""

    action: Any
    probability: float
    scores: NDArray[np.float64]


def check_exploration(explore: float, rng: object) -> np.random.Generator:
    """Return the generator; refuse a seed in its place, with which every call would draw the same."""
    if not 0 <= explore <= 1:
        raise UsageError(f"The share to explore must lie in [0, 1], and is {explore:g}.", "Try 0.05.")
    if not isinstance(rng, np.random.Generator):
        raise UsageError(
            f"To explore, choose needs a generator, and rng is {quoted(str(rng))}.",
            "Make one once, rng = numpy.random.default_rng(), and pass it to every call.",
        )
    return rng


def epsilon_greedy(
    best: NDArray[np.int64], candidates: int | NDArray[np.int64], explore: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw the best candidate of every row, or with probability ``explore`` any candidate, the best one too.

    Returns the numbers drawn and their probabilities: 1 - explore + explore / candidates for the best,
    explore / candidates for any other. Every row is drawn on its own.

    Args:
        best: the number of the best candidate, a row each.
        candidates: how many there are, the same for all rows or for each.
        explore: the share of rows that explore (epsilon).
        rng: a NumPy generator.

    >>> drawn, probability = epsilon_greedy(np.zeros(4, dtype=np.int64), 2, 0.5, np.random.default_rng(1))
    >>> drawn.tolist(), probability.tolist()
    ([0, 0, 1, 0], [0.75, 0.75, 0.25, 0.75])
    """
    explores = rng.random(len(best)) < explore
    drawn = np.where(explores, rng.integers(candidates, size=len(best)), best)
    share = explore / candidates
    return drawn, np.where(drawn == best, 1 - explore + share, share)
