"""How far the actions that logging prefers are the better ones: mean rewards grow with a power of the action's share.

    expected reward of a cell ~ that of its context * share ** slope,   share = its events / those of its context

Loggers mostly know something. What a logger hardly ever shows looks, shrunk to the mean of its context, as good as what
it prefers, although it left it out for a reason; one slope for all cells says how much of a reason, by the log itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.reward.examples import Examples

    Floats = NDArray[np.float64]

# The standard deviation of slopes before any log is seen, and the largest one.
USUAL_SLOPE, LARGEST_SLOPE = 0.3, 1.0


def leant(examples: Examples, given: Floats, slope: float) -> Floats:
    """Return expected sums of rewards with a slope; those of a context keep their sum."""
    if slope == 0:
        return given
    size = int(examples.contexts.max()) + 1
    changed = given * examples.propensity**slope
    before, after = (np.bincount(examples.contexts, part, size)[examples.contexts] for part in (given, changed))
    kept: Floats = changed * (before / after)
    return kept


def better_slope(examples: Examples, given: Floats, precision: Floats, slope: float) -> tuple[float, float]:
    """Return the slope that the rewards suggest, by one step from another, and its standard error.

    Args:
        examples: The cells.
        given: The expected sums of rewards, with the slope so far.
        precision: Of every cell's actual over expected rewards.
        slope: The slope so far.
    """
    logarithm, ratio = (
        _within(examples.contexts, part, precision)
        for part in (np.log(examples.propensity), examples.reward_sum / given)
    )
    usual = 1 / USUAL_SLOPE**2
    known = float((precision * logarithm**2).sum()) + usual
    step = (float((precision * logarithm * ratio).sum()) - usual * slope) / known
    return float(np.clip(slope + step, -LARGEST_SLOPE, LARGEST_SLOPE)), known**-0.5


def _within(contexts: NDArray[np.int64], values: Floats, weights: Floats) -> Floats:
    """Return values less the weighted mean of their context."""
    size = int(contexts.max()) + 1
    sums, total = (np.bincount(contexts, part, size)[contexts] for part in (values * weights, weights))
    apart: Floats = values - sums / total
    return apart
