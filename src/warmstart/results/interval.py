"""An interval and what it guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

IntervalName = Literal["kl", "hoeffding", "bernstein", "bets", "gamma", "bootstrap"]
Guarantee = Literal["finite-sample", "approximate"]


@dataclass(frozen=True)
class Interval:
    """Two ends, each wrong with probability at most delta / 2 (about that, where approximate)."""

    lower: float
    upper: float
    delta: float
    method: str
    guarantee: Guarantee
