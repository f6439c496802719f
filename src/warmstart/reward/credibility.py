"""Factors of ids (credibility, empirical Bayes): actual over expected rewards of actions, contexts and cells.

A model of words expects ``E = sum of n * f`` of an action that earned S. Its factor is ``(S + k) / (E + k)``: 1 without
data, S / E with much data; k is the number of expected rewards at which it is shrunk half way. Factors are exact: no id
shares a bucket with another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from warmstart.reward.examples import Examples

ROUNDS = 4
# Measured on simulated months: from 2 to 16, and 20 to 100 for cells, the learned policy earns the same. Elsewhere it
# does not: where events could be held out, ``trial`` chooses those of contexts and cells.
ACTION_HALF, CONTEXT_HALF, CELL_HALF = 8.0, 8.0, 60.0
# A prediction of 0 has no ratio: predictions are raised to this share of the mean reward.
# A product clipped at 0 errs by that much; models of probabilities and of factors hardly, and raising their small
# predictions would make the factors of actions too small (accuracy on satimage .83, not .86).
LOWEST_SHARE, LOWEST_SHARE_OF_CHANCES = 0.2, 0.01


class Halves(NamedTuple):
    """The expected rewards at which the factors of actions, contexts and cells are shrunk half way to 1."""

    action: float = ACTION_HALF
    context: float = CONTEXT_HALF
    cell: float = CELL_HALF


@dataclass(frozen=True, eq=False)
class Credibility:
    """Factors by action, by context and by cell, on predictions that are not below ``lowest``."""

    lowest: float
    actions: NDArray[np.float64]
    contexts: NDArray[np.float64]
    cells: NDArray[np.float64]

    @classmethod
    def learn(
        cls,
        examples: Examples,
        predictions: NDArray[np.float32],
        contexts: int,
        actions: int,
        halves: Halves = Halves(),  # noqa: B008  immutable
        *,
        lowest_share: float = LOWEST_SHARE,
    ) -> Self:
        """Fit the factors of actions and of contexts in turn, each given the other; then those of cells.

        Args:
            examples: the cells.
            predictions: of a model of their features.
            contexts: how many there are.
            actions: how many there are.
            halves: how far factors are shrunk.
            lowest_share: predictions are raised to this share of the mean reward.
        """
        lowest = lowest_share * examples.reward_sum.sum() / examples.n.sum()
        expected = examples.n * np.maximum(predictions, lowest)
        by_action, by_context = np.ones(actions), np.ones(contexts)
        for _ in range(ROUNDS):
            given = expected * by_context[examples.contexts]
            by_action = factors(examples.actions, given, examples, actions, halves.action)
            given = expected * by_action[examples.actions]
            by_context = factors(examples.contexts, given, examples, contexts, halves.context)
        by_cell = factors_of_cells(expected, by_action, by_context, examples, halves.cell)
        return cls(float(lowest), by_action, by_context, by_cell)

    def apply(self, examples: Examples, predictions: NDArray[Any]) -> NDArray[np.float64]:
        """Return the expected rewards of the cells, in [0, 1]."""
        factor = self.actions[examples.actions] * self.contexts[examples.contexts] * self.cells
        expected: NDArray[np.float64] = np.minimum(np.maximum(predictions, self.lowest) * factor, 1.0)
        return expected


def factors_of_cells(
    expected: NDArray[np.float64],
    by_action: NDArray[Any],
    by_context: NDArray[Any],
    examples: Examples,
    half: float = CELL_HALF,
) -> NDArray[np.float64]:
    """Return the factors of cells, given those of their actions and contexts."""
    given = expected * by_action[examples.actions] * by_context[examples.contexts]
    return factors(np.arange(len(examples)), given, examples, len(examples), half)


def factors(
    groups: NDArray[np.int64], expected: NDArray[np.float64], examples: Examples, size: int, half: float
) -> NDArray[np.float64]:
    """Return (actual + half) / (expected + half) rewards of groups.

    Args:
        groups: the group of every cell.
        expected: the expected rewards of every cell.
        examples: the cells.
        size: the number of groups.
        half: the expected rewards at which a factor is shrunk half way to 1.
    """
    actual = np.bincount(groups, weights=examples.reward_sum, minlength=size)
    total = np.bincount(groups, weights=expected, minlength=size)
    shrunk: NDArray[np.float64] = (actual + half) / (total + half)
    return shrunk
