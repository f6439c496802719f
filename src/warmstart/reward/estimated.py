"""Factors of ids as in ``credibility``, shrunk by what the rewards themselves say of how much they differ.

How far factors of actions, of contexts and of cells lie apart is estimated by the method of moments: the squares of
actual less expected rewards, less what chance and the cells below would make of them. Where nothing else is seen,
factors are 1. Fixed shrinkage lets the noise of factors that do not differ decide where small differences of others
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.reward.credibility import LOWEST_SHARE, ROUNDS, Credibility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.reward.examples import Examples

    Floats = NDArray[np.float64]

# Factors of actions and of contexts whose variance is smaller than this are taken for equal; those of cells never are.
LEAST_VARIANCE, LEAST_OF_CELLS = 1e-6, 0.01
# Cells are taken to differ at least this much where their actions and contexts are told apart: their variance is badly
# known, and what few large cells have of their own is no difference of their actions.
MUCH_OF_CELLS = 0.1
# So many are taken off a variance: a few groups differ by chance.
STANDARD_ERRORS = 1.0
LEAST_FACTOR = 0.05


def shrunk_rates(examples: Examples) -> Floats:
    """Return the expected reward of every cell, from those of its action, its context and its own, shrunk."""
    size = [int(numbers.max()) + 1 for numbers in (examples.contexts, examples.actions)]
    rate = np.full(len(examples), examples.reward_sum.sum() / examples.n.sum())
    return learn_estimated(examples, rate, *size).apply(examples, rate)


def learn_estimated(examples: Examples, predictions: NDArray[Any], contexts: int, actions: int) -> Credibility:
    """Return factors of actions, contexts and cells on predictions, each shrunk as much as the rewards say.

    Args:
        examples: The cells.
        predictions: The expected rewards of the cells, by a model.
        contexts: The number of contexts.
        actions: The number of actions.
    """
    rewards = float(examples.reward_sum.sum())
    rate = rewards / float(examples.n.sum())
    # The variance of a reward over its mean: 1 - rate, if it is 0 or 1.
    spread = max(float(examples.reward_sq_sum.sum()) / rewards - rate, 0.0)
    lowest = LOWEST_SHARE * rate
    raised = examples.n * np.maximum(predictions, lowest)
    scale = rewards / float(raised.sum())
    by_action, by_context, of_cells = np.ones(actions), np.ones(contexts), 0.0
    for _ in range(ROUNDS):
        given = raised * scale * by_action[examples.actions]
        by_context = _factors(examples.contexts, given, examples, (contexts, spread, of_cells))
        of_cells = _variance_of_cells(given * by_context[examples.contexts], examples, spread)
        given = raised * scale * by_context[examples.contexts]
        by_action = _factors(examples.actions, given, examples, (actions, spread, of_cells))
    given = raised * scale * by_context[examples.contexts] * by_action[examples.actions]
    half = spread / max(_variance_of_cells(given, examples, spread), LEAST_OF_CELLS)
    return Credibility(lowest, by_action, by_context * scale, (examples.reward_sum + half) / (given + half))


def _factors(
    groups: NDArray[np.int64], expected: Floats, examples: Examples, numbers: tuple[int, float, float]
) -> Floats:
    """Return the factors of groups.

    Args:
        groups: The group of every cell.
        expected: The expected rewards of every cell.
        examples: The cells.
        numbers: How many groups there are, the variance of a reward over its mean, the variance of cells' factors.
    """
    size, spread, of_cells = numbers
    # Of a cell's actual over expected rewards; a cell with many events says no more of its group than its own factor.
    precision = expected / (spread + max(of_cells, MUCH_OF_CELLS) * expected)
    evidence = precision * (examples.reward_sum / np.maximum(expected, 1e-300) - 1)
    weights, sums, own_weights, own = (
        np.bincount(groups, weights=part, minlength=size) for part in (precision, evidence, precision**2, evidence**2)
    )
    # Products of different cells: neither chance nor their own factors add to these.
    pairs = weights**2 - own_weights
    products = (sums**2 - own).sum() - STANDARD_ERRORS * np.sqrt(2 * pairs.sum())
    variance = max(float(products / max(pairs.sum(), 1e-300)), LEAST_VARIANCE)
    factors: Floats = np.maximum(1 + sums / (weights + 1 / variance), LEAST_FACTOR)
    return factors


def _variance_of_cells(expected: Floats, examples: Examples, spread: float) -> float:
    """Return the variance of cells' factors around those of their contexts."""
    size = int(examples.contexts.max()) + 1
    of_context = np.bincount(examples.contexts, expected, size)[examples.contexts]
    earned = np.bincount(examples.contexts, examples.reward_sum, size)[examples.contexts]
    share = expected / np.maximum(of_context, 1e-300)
    squares = (examples.reward_sum - share * earned) ** 2 - expected * (1 - share) * spread
    return max(float(squares.sum()) / max(float((expected**2 * (1 - share)).sum()), 1e-300), 0.0)
