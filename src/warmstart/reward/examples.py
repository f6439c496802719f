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

    def weights(self, tau: float) -> NDArray[np.float64]:
        """Return the importance weight of an event of every cell, 1 / max(propensity, tau)."""
        inverse: NDArray[np.float64] = 1 / np.maximum(self.propensity, tau)
        return inverse

    def importance(self, tau: float, mean: float | None = None) -> NDArray[np.float32]:
        """Return the importance weights n / max(propensity, tau) over their mean (or one that is given).

        With a mean of 1, a learning rate means the same for any tau.
        """
        weights = self.n * self.weights(tau)
        relative: NDArray[np.float32] = (weights / (weights.mean() if mean is None else mean)).astype(np.float32)
        return relative

    def divided(self, parts: int, seed: int) -> list[tuple[Self, Self]]:
        """Divide events at random into parts; return, for each part, the cells of all others and its own.

        Events of rewards 0 and 1 are divided one by one; of others only sums are known, and contexts go as a whole.
        """
        rng = np.random.default_rng(seed)
        won, sums = np.rint(self.reward_sum), np.stack([self.n, self.reward_sum, self.reward_sq_sum])
        if np.array_equal(won, self.reward_sum) and np.array_equal(won, self.reward_sq_sum):
            even = np.full(parts, 1 / parts)
            each = [rng.multinomial(count.astype(np.int64), even).T.astype(np.float64) for count in (won, self.n - won)]
            drawn = [np.stack([good + bad, good, good]) for good, bad in zip(*each, strict=True)]
        else:
            of_context = rng.integers(parts, size=int(self.contexts.max(initial=0)) + 1)[self.contexts]
            drawn = [sums * (of_context == part) for part in range(parts)]
        return [(self._of_sums(sums - own), self._of_sums(own)) for own in drawn]

    def _of_sums(self, sums: NDArray[np.float64]) -> Self:
        """Return the cells that have events, with these sums of events, rewards and squared rewards."""
        n = sums[0]
        context_n = np.bincount(self.contexts, n)[self.contexts]
        return type(self)(*(one[n > 0] for one in (self.contexts, self.actions, *sums, context_n)))

    def places(self, asked: Examples) -> NDArray[np.int64]:
        """Return where the cells of others are among these; -1 for those that are not. Both are in their order."""
        width = int(max(self.actions.max(initial=0), asked.actions.max(initial=0))) + 1
        own, others = (cells.contexts * width + cells.actions for cells in (self, asked))
        at = np.minimum(np.searchsorted(own, others), max(len(own) - 1, 0))
        return np.where(own[at] == others, at, -1) if len(own) else np.full(len(others), -1)

    def sample_contexts(self, cells: int, contexts: int, seed: int) -> Self:
        """Return the cells of randomly chosen contexts, about as many cells as requested."""
        if len(self) <= cells:
            return self
        rows = (np.random.default_rng(seed).random(contexts) < cells / len(self))[self.contexts]
        return type(self)(*(array[rows] for array in vars(self).values()))
