"""Expected rewards of cells, shrunk by what the rewards themselves say of how much cells differ.

How far factors of actions, of contexts and of cells lie apart is estimated by the method of moments: the squares of
actual less expected rewards, less what chance and the cells below would make of them. Where nothing else is seen,
factors are 1. Fixed shrinkage lets the noise of factors that do not differ decide where small differences of others
matter. What logging prefers may be better by a slope (see leaning).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.reward.credibility import LOWEST_SHARE, ROUNDS
from warmstart.reward.leaning import better_slope, leant

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
# A cell with this share of what its context is expected to earn is its only one, but for rounding.
ALONE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Estimated:
    """What is known of the cells' mean rewards.

    ``given``: the sums of rewards that are expected by a model and the factors of actions and contexts; ``spread``: the
    variance of a reward over its mean; ``half``: the expected rewards at which a cell's own factor is shrunk half way
    to 1; ``slope``, ``error``: how much better what logging prefers is, and the standard error of that.
    """

    examples: Examples
    given: Floats
    spread: float
    half: float
    slope: float
    error: float

    @property
    def rates(self) -> Floats:
        """Return the expected mean reward of every cell, in [0, 1]."""
        given, earned = leant(self.examples, self.given, self.slope), self.examples.reward_sum
        return self._limited(given * (earned + self.half) / (given + self.half))

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Draw mean rewards of the cells that these rewards leave plausible."""
        slope = float(np.clip(rng.normal(self.slope, self.error), -1.0, 1.0)) if self.error else self.slope
        given = leant(self.examples, self.given, slope)
        factors = rng.gamma((self.examples.reward_sum + self.half) / self.spread) / ((given + self.half) / self.spread)
        return self._limited(given * factors)

    def _limited(self, sums: Floats) -> Floats:
        rates: Floats = np.minimum(sums / self.examples.n, 1.0)
        return rates


def shrunk_rates(examples: Examples, *, leaning: bool = True) -> Floats:
    """Return the expected reward of every cell, from those of its action, its context and its own, shrunk."""
    size = [int(numbers.max()) + 1 for numbers in (examples.contexts, examples.actions)]
    rate = np.full(len(examples), examples.reward_sum.sum() / examples.n.sum())
    return learn_estimated(examples, rate, *size, leaning=leaning).rates


def learn_estimated(
    examples: Examples, predictions: NDArray[Any], contexts: int, actions: int, *, leaning: bool = True
) -> Estimated:
    """Return what is known of the cells' mean rewards, shrunk as much as the rewards say.

    Args:
        examples: The cells.
        predictions: The expected rewards of the cells, by a model.
        contexts: The number of contexts.
        actions: The number of actions.
        leaning: Whether what logging prefers may be better.
    """
    rewards = float(examples.reward_sum.sum())
    if rewards <= 0:
        return Estimated(examples, np.zeros(len(examples)), 1.0, 1.0, 0.0, 0.0)
    rate = rewards / float(examples.n.sum())
    # 1 - rate, if rewards are 0 or 1.
    spread = max(float(examples.reward_sq_sum.sum()) / rewards - rate, LEAST_VARIANCE)
    raised = examples.n * np.maximum(predictions, LOWEST_SHARE * rate)
    raised *= rewards / float(raised.sum())
    by_action, by_context, of_cells = np.ones(actions), np.ones(contexts), 0.0
    for _ in range(ROUNDS):
        given = raised * by_action[examples.actions]
        by_context = _factors(examples.contexts, given, examples, (contexts, spread, of_cells))
        of_cells = _variance_of_cells(given * by_context[examples.contexts], examples, spread)
        given = raised * by_context[examples.contexts]
        by_action = _factors(examples.actions, given, examples, (actions, spread, of_cells))
    given = raised * by_context[examples.contexts] * by_action[examples.actions]
    slope, error = 0.0, 0.0
    for _ in range(ROUNDS if leaning else 0):
        lean = leant(examples, given, slope)
        of_cells = max(_variance_of_cells(lean, examples, spread), LEAST_OF_CELLS)
        slope, error = better_slope(examples, lean, lean / (spread + of_cells * lean), slope)
    of_cells = max(_variance_of_cells(leant(examples, given, slope), examples, spread), LEAST_OF_CELLS)
    return Estimated(examples, given, spread, spread / of_cells, slope, error)


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
    share = expected / of_context
    chance = expected * (1 - share) * spread
    squares = (examples.reward_sum - share * earned) ** 2 - chance
    # A cell's factor less the mean one of its context, of which it is a part.
    apart = expected**2 * (1 - 2 * share + np.bincount(examples.contexts, share**2, size)[examples.contexts])
    # Squares vary by twice the square of what is expected of them; a context's only cell says nothing.
    several = share < ALONE
    weights = apart[several] / (chance + MUCH_OF_CELLS * apart)[several] ** 2
    return max(float(weights @ squares[several]) / max(float(weights @ apart[several]), 1e-300), 0.0)
