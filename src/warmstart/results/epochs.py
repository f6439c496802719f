"""What one epoch of a log says of a policy, and what is known at its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

LEVELS = ("value", "lower", "upper", "value_so_far", "lower_so_far", "upper_so_far")
DIFFERENCES = tuple(f"gain{end}{so_far}" for end in ("", "_lower", "_upper") for so_far in ("", "_so_far"))
BOUNDS = tuple(name for name in (*LEVELS, *DIFFERENCES) if "lower" in name or "upper" in name)


@dataclass(frozen=True)
class EpochEstimate:
    """A policy's value in one epoch and, at its end, in all epochs so far.

    ``value, lower, upper, gain, gain_lower, gain_upper``: per event of this epoch alone; the ends of one epoch miss
    with probability delta. Those so far: per event of all epochs so far; their ends bound expectations at all epoch
    ends at once: with probability 1 - delta none ever misses. Gains are those of the policy where it is supported, with
    logging elsewhere, over logging. ``supported``: the share of the epoch's traffic. Ends are None where none holds.
    """

    epoch: str
    events: int
    tau: float
    supported: float
    value: float
    lower: float | None
    upper: float | None
    gain: float
    gain_lower: float | None
    gain_upper: float | None
    value_so_far: float
    lower_so_far: float | None
    upper_so_far: float | None
    gain_so_far: float
    gain_lower_so_far: float | None
    gain_upper_so_far: float | None

    def scaled(self, low: float, width: float) -> EpochEstimate:
        """Return the estimate on the user's own scale of rewards."""
        starts = dict.fromkeys(LEVELS, low) | dict.fromkeys(DIFFERENCES, 0.0)
        values = {name: getattr(self, name) for name in starts}
        changed: Any = {name: starts[name] + width * value for name, value in values.items() if value is not None}
        return replace(self, **changed)

    def uncertified(self) -> EpochEstimate:
        """Return the estimate without ends."""
        nothing: Any = dict.fromkeys(BOUNDS)
        return replace(self, **nothing)
