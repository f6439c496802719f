"""What an estimate is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Contribution:
    """One context or action: its part of a policy's estimated rewards, and of the traffic on which it is chosen."""

    policy: str
    tau: float
    kind: Literal["context", "action"]
    name: tuple[object, ...]
    share: float
    traffic: float
    events: int
