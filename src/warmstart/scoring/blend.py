"""A blend of reward models as it predicts: the weighted mean of what several kinds expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.scoring.models import Ints, Predictor, RewardModel, Singles
from warmstart.scoring.rows import SparseRows


@dataclass(frozen=True, eq=False)
class BlendModel:
    """Models of different kinds, and their ``shares``, which add up to 1 (a linear opinion pool)."""

    parts: tuple[RewardModel, ...]
    shares: tuple[float, ...]

    @property
    def scores_new(self) -> bool:
        """Tell whether actions that training never had can be scored: if every part can."""
        return all(part.scores_new for part in self.parts)

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and rows of ``a``."""
        return self._mean([part.predict(contexts, actions, x, a) for part in self.parts])

    def for_actions(self, a: SparseRows) -> Predictor:
        """Return the same for actions that stay the same."""
        predictors = [part.for_actions(a) for part in self.parts]
        return lambda contexts, actions, x: self._mean([predict(contexts, actions, x) for predict in predictors])

    def among(self, numbers: Ints) -> BlendModel:
        """Return the model of some of the known actions."""
        return replace(self, parts=tuple(part.among(numbers) for part in self.parts))

    def _mean(self, predicted: Sequence[Singles]) -> Singles:
        total = np.zeros(len(predicted[0]))
        for share, one in zip(self.shares, predicted, strict=True):
            total += share * one
        return np.minimum(total, 1.0).astype(np.float32)
