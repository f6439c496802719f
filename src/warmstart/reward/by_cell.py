"""The cross-fitted reward model for contexts that repeat: cell means that borrow from action and context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True, eq=False)
class RewardByCell:
    """Events and rewards by cell, action, context and fold; ``strength`` is how many events the borrowed rate counts.

    A score is (rewards of the cell + k * rate) / (events of the cell + k), rate = rate of the action * rate of the
    context / rate of all, each shrunk the same way, over the events of the other folds.
    """

    cells: Numbers
    sums: Floats
    by_action: Floats
    by_context: Floats
    strength: float

    @classmethod
    def of(
        cls,
        contexts: Numbers,
        actions: Numbers,
        folds: Numbers,
        n: Floats,
        rewards: Floats,
        *,
        by_action: Floats,
        strength: float,
    ) -> Self:
        """Sum strata of some contexts; what actions earned in all of them is known."""
        _, size, k = by_action.shape
        cells, place = np.unique(contexts * size + actions, return_inverse=True)
        by_cell, by_context = (
            by_fold(rows, folds, n, rewards, shape=(many, k))
            for rows, many in ((place, len(cells)), (contexts, int(contexts.max()) + 1))
        )
        return cls(cells, by_cell, by_action, by_context, strength)

    def predict(self, contexts: Numbers, actions: Numbers, folds: Numbers) -> Floats:
        """Return scores in [0, 1] for contexts, actions and the folds whose events must not have a say."""
        return self._scores(contexts, actions, folds, self.strength)

    def _scores(self, contexts: Numbers, actions: Numbers, folds: Numbers, k: float) -> Floats:
        def others(by_fold: Floats, rows: Numbers) -> tuple[Floats, Floats]:
            n, rewards = by_fold[:, rows].sum(axis=2) - by_fold[:, rows, folds]
            return np.maximum(n, 0.0), np.maximum(rewards, 0.0)

        total = self.by_action.sum(axis=1)
        n_all, rewards_all = total.sum(axis=1)[:, None] - total[:, folds]
        rate = (rewards_all + 1e-9) / (n_all + 1e-9)
        n_a, r_a = others(self.by_action, actions)
        n_x, r_x = others(self.by_context, contexts)
        action_rate, context_rate = (r_a + k * rate) / (n_a + k), (r_x + k * rate) / (n_x + k)
        borrowed = np.minimum(action_rate * context_rate / rate, 1.0)
        code = contexts * self.by_action.shape[1] + actions
        place = np.minimum(np.searchsorted(self.cells, code), len(self.cells) - 1)
        known = self.cells[place] == code
        n, rewards = self.sums[:, place].sum(axis=2) - self.sums[:, place, folds]
        n, rewards = np.where(known, n, 0.0), np.where(known, rewards, 0.0)
        scores: Floats = np.clip((rewards + k * borrowed) / (n + k), 0.0, 1.0)
        return scores

    def errors(self, contexts: Numbers, actions: Numbers, folds: Numbers, n: Floats, rewards: Floats) -> list[float]:
        """Return the squared error of every strength on the folds held out, but for what all have in common."""
        found = []
        for strength in STRENGTHS:
            score = self._scores(contexts, actions, folds, strength)
            found.append(float((score * (n * score - 2 * rewards)).sum()))
        return found


def by_fold(rows: Numbers, folds: Numbers, n: Floats, rewards: Floats, *, shape: tuple[int, int]) -> Floats:
    """Sum events and rewards by row and fold."""
    size, k = shape
    both = [np.bincount(rows * k + folds, weights=values, minlength=size * k) for values in (n, rewards)]
    stacked: Floats = np.stack(both).astype(np.float64).reshape(2, size, k)
    return stacked


def learn_by_cell(contexts: Numbers, actions: Numbers, folds: Numbers, n: Floats, rewards: Floats) -> RewardByCell:
    """Learn from strata given by numbers; the strength has the least squared error on the folds held out.

    The number after the last action stands for any that was never shown.
    """
    strata = (contexts, actions, folds, n, rewards)
    shape = (int(actions.max()) + 2, int(folds.max()) + 1)
    model = RewardByCell.of(*strata, by_action=by_fold(*strata[1:], shape=shape), strength=STRENGTHS[0])
    return replace(model, strength=best_strength(model.errors(*strata)))


def best_strength(errors: Sequence[float]) -> float:
    """Return the strength with the least error."""
    return STRENGTHS[int(np.argmin(errors))]
