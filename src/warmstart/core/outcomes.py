"""Outcomes: what came of an event, the reward first; each with its range, and whether less of it is better."""

from __future__ import annotations

from dataclasses import dataclass

from warmstart.core.names import REWARD

# A range this many times as wide as what was seen costs precision that a narrower one would not.
TOO_WIDE = 5.0


@dataclass(frozen=True)
class Outcome:
    """A column of the log that is valued: ``low`` to ``high`` is its possible range, cut to [0, 1] inside.

    ``column``: its fixed name in the log. ``seen``: the smallest and the largest value of the log; ``known``: the share
    of the log's events in which it is not null. ``parts``: the outcomes that a utility weighs.
    """

    name: str
    column: str = REWARD
    low: float = 0.0
    high: float = 1.0
    minimize: bool = False
    seen: tuple[float, float] | None = None
    known: float = 1.0
    parts: tuple[str, ...] = ()

    @property
    def range(self) -> tuple[float, float]:
        """Return the lowest and the highest possible value."""
        return self.low, self.high

    @property
    def width(self) -> float:
        """Return the width of the range."""
        return self.high - self.low

    @property
    def sign(self) -> float:
        """Return 1 if more is better, -1 if less is."""
        return -1.0 if self.minimize else 1.0

    @property
    def is_too_wide(self) -> bool:
        """Tell whether the range is far wider than the values of the log; bounds pay for all of it."""
        if self.seen is None or self.seen[1] <= self.seen[0]:
            return False
        # 0 and 1 of a click are the range, however rare a click is.
        return self.width > TOO_WIDE * (self.seen[1] - self.seen[0])
