"""How a tau was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tau = float | Literal["auto"]


@dataclass(frozen=True)
class TauPoint:
    """What one tau would cost: the share of traffic lost to clipping, the standard error, and both as an error."""

    tau: float
    lost: float
    standard_error: float
    error: float


@dataclass(frozen=True)
class TauChoice:
    """The tau (clipping constant) of least expected error, and the errors of those it was chosen among.

    Rewards were taken to come at ``rate`` (in [0, 1]), that of the training window, if ``rate_is_known``; else the tau
    is the one whose error is the smallest multiple of the best tau's at any rate, and ``curve`` shows errors at a
    middling one. The rewards of the evaluated window had no say, so intervals need no allowance for the choice; but
    for propensities that are not counted, where nothing is certified: there the rate is that of what the policy
    matched.
    """

    tau: float
    rate: float
    rate_is_known: bool
    curve: tuple[TauPoint, ...]
