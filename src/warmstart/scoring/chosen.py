"""What a policy inside a service chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Chosen:
    """The action chosen in every context, None where there was nothing to choose among or the policy defers, and its
    expected reward.

    ``probabilities``: of the actions, if they were drawn (``explore``): the propensities to log.
    """

    actions: list[Any]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None = None
