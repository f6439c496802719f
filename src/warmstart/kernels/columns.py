"""The columns of a table of weights that actions use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = tuple[Array, Array, Array]


def pack_columns(a: Rows, width: int) -> tuple[Rows, Array]:
    """Return actions' features by the place of their buckets among those in use, the most frequent first.

    The columns of most actions then lie close together. Returns the buckets in that order too.
    """
    starts, buckets, values = a
    count = np.bincount(buckets, minlength=width)
    used = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
    places = np.zeros(width, dtype=np.uint32)
    places[used] = np.arange(len(used))
    return (starts, places[buckets], values), used
