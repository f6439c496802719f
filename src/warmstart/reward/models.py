"""What a reward model is, and the kinds of it that ``fit`` can learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from warmstart.features import FeatureRows

ModelName = Literal["product", "low-rank", "logistic", "cells"]
# In the order in which ``auto`` tries them: later ones are left out when the time is over.
MODELS: tuple[ModelName, ...] = ("product", "low-rank", "logistic", "cells")
ROWS_PER_CHUNK = 20_000


class RewardModel(Protocol):
    """Predicts the reward of an action in a context from their features, as a share of its range."""

    def predict(
        self, contexts: NDArray[Any], actions: NDArray[Any], x: FeatureRows, a: FeatureRows
    ) -> NDArray[np.float32]:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and rows of ``a``."""
        ...


@dataclass(frozen=True, eq=False)
class MeanModel:
    """The kind ``cells``: the mean reward for all. What cells, actions and contexts earned is left to their factors."""

    mean: float

    def predict(self, contexts: NDArray[Any], *_: Any) -> NDArray[np.float32]:
        """Return the mean for every pair."""
        return np.full(len(contexts), self.mean, dtype=np.float32)


def chunks(size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers below ``size``, some thousands at a time."""
    for begin in range(0, size, ROWS_PER_CHUNK):
        yield np.arange(begin, min(begin + ROWS_PER_CHUNK, size))


def asked(rows: FeatureRows, places: NDArray[Any]) -> tuple[FeatureRows, NDArray[np.int64]]:
    """Return the rows at these places, each once, and where each place is among them."""
    distinct, where = np.unique(places, return_inverse=True)
    return (rows if len(distinct) == len(rows) else rows.take(distinct)), where
