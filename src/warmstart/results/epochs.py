"""What one epoch of a log says of a policy, and what is known at its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EpochEstimate:
    """A policy's value in one epoch and, at its end, in all epochs so far.

    ``value, lower, upper``: per event of this epoch alone; the ends of one epoch miss with probability delta.
    ``value_so_far`` and ``gain_so_far``: per event of all epochs so far, their ends bound expectations at all epoch
    ends at once: with probability 1 - delta none ever misses. ``supported``: the share of the epoch's traffic.
    """

    epoch: str
    events: int
    tau: float
    supported: float
    value: float
    lower: float
    upper: float
    value_so_far: float
    lower_so_far: float
    upper_so_far: float
    gain_so_far: float
    gain_lower_so_far: float
    gain_upper_so_far: float
