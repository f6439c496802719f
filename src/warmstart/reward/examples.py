"""Training examples: cells as arrays, with contexts and actions as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import ACTION, to_numpy
from warmstart.events import Cells
from warmstart.features import KeyEncoder

# The columns of a cell that are fetched with its keys.
SUMS = ("n", "reward_sum", "reward_sq_sum", "context_n")


@dataclass(frozen=True, eq=False)
class Examples:
    """One entry a cell: numbers of its context and action, events, rewards, squared rewards, events of the context."""

    contexts: NDArray[np.int64]
    actions: NDArray[np.int64]
    n: NDArray[np.float64]
    reward_sum: NDArray[np.float64]
    reward_sq_sum: NDArray[np.float64]
    context_n: NDArray[np.float64]

    @classmethod
    def of_cells(
        cls, cells: Cells, encoders: tuple[KeyEncoder, KeyEncoder] | None = None
    ) -> tuple[Self, KeyEncoder, KeyEncoder]:
        """Fetch the cells of a window; encode their contexts and actions, or use encoders that are known."""
        keys = cells.columns.context_keys
        rows = cells.engine.fetch_arrow(cells.table.filter(cells.table.n > 0).select(*keys, ACTION, *SUMS))
        contexts, actions = encoders or (KeyEncoder.of(rows.select(list(keys))), KeyEncoder.of(rows.select([ACTION])))
        return cls.of_rows(rows, contexts, actions), contexts, actions

    @classmethod
    def of_rows(cls, rows: pa.Table, contexts: KeyEncoder, actions: KeyEncoder) -> Self:
        """Encode the rows of a table of cells; those with an unknown context or action are left out."""
        x, a = contexts.numbers(rows), actions.numbers(rows)
        # In the order of numbers, so that the same log gives the same model whatever order the engine answers in.
        order = np.lexsort((a, x))
        order = order[(x[order] >= 0) & (a[order] >= 0)]
        return cls(x[order], a[order], *(to_numpy(rows[name])[order] for name in SUMS))

    def __len__(self) -> int:
        return len(self.n)

    @property
    def means(self) -> NDArray[np.float64]:
        """Return the mean reward of every cell."""
        return self.reward_sum / self.n

    @property
    def propensity(self) -> NDArray[np.float64]:
        """Return the share of the action among the context's events."""
        return self.n / self.context_n

    def importance(self, tau: float, mean: float | None = None) -> NDArray[np.float32]:
        """Return the importance weights n / max(propensity, tau) over their mean (or one that is given).

        With a mean of 1, a learning rate means the same for any tau.
        """
        weights = self.n / np.maximum(self.propensity, tau)
        relative: NDArray[np.float32] = (weights / (weights.mean() if mean is None else mean)).astype(np.float32)
        return relative

    def sample_contexts(self, cells: int, contexts: int, seed: int) -> Self:
        """Return the cells of randomly chosen contexts, about as many cells as requested."""
        if len(self) <= cells:
            return self
        rows = (np.random.default_rng(seed).random(contexts) < cells / len(self))[self.contexts]
        return type(self)(*(array[rows] for array in vars(self).values()))
