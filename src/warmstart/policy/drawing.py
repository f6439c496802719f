"""Draw among the rows of a table of actions (epsilon-greedy)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import UsageError
from warmstart.scoring import epsilon_greedy


def drawn_rows(
    keys: pa.Array, best: NDArray[np.int64], explore: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of a table of actions that were drawn, and the probability of each: its propensity.

    Args:
        keys: the actions of the table, which may name one twice: different ones are drawn among.
        best: the row of the best action of every context.
        explore: the share of choices that explore.
        rng: a NumPy generator.
    """
    if keys.null_count:
        raise UsageError("The table of actions has an action without a name.", "Remove the row.")
    numbers: dict[Any, int] = {}
    number_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys.to_pylist()], dtype=np.int64)
    first = np.unique(number_of, return_index=True)[1]
    drawn, probability = epsilon_greedy(number_of[best], len(first), explore, rng)
    return np.where(drawn == number_of[best], best, first[drawn]), probability
