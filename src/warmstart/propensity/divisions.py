"""Divisions of a log into epochs: the lengths that "auto" compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import MICROSECONDS_PER_DAY
from warmstart.events import DAYS_BEFORE_MONDAY, HOUR

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

BLOCKS = (2, 4, 8, 16, 32)
MOST_EPOCHS = 64
# A length that leaves fewer events to the mean epoch is not tried: nothing could be learned from them.
FEWEST_EVENTS = 30
# Times are fetched in the longest of these that divides a window into so many: each divides the next, and a day.
UNITS = (HOUR, HOUR // 6, HOUR // 60, HOUR // 3600, 1)
FEWEST_UNITS = 100


@dataclass(frozen=True)
class Epoching:
    """The division in use: what an epoch is, how many there are, and the held-out log-loss of all that were compared.

    ``losses``: by name; "" is one model of all epochs. Empty where the division was not chosen here. ``own``: a sample
    of events with the propensities of their own epoch (see ``own_epoch_rows``), where there are several.
    """

    name: str
    epochs: int
    losses: dict[str, float]
    same_contexts: bool = True
    own: pa.Table | None = None

    @property
    def detail(self) -> str:
        """Say what an epoch is, and why."""
        if not self.name:
            text = " One model of the whole window, which no division into epochs beat"
        else:
            text = f" Epochs: {self.name} ({self.epochs:,})"
        if self.losses:
            best = sorted(self.losses, key=lambda name: self.losses[name])[:2]
            shown = [f"{name or 'one model'} {self.losses[name]:.4f}" for name in dict.fromkeys([*best, ""])]
            text += f"; of {len(self.losses)} that were compared on held-out events, by log-loss: {', '.join(shown)}"
        if self.name:
            text += "; contexts are alike in all" if self.same_contexts else "; contexts differ between them"
        return f"{text}."


def finest_unit(first: int, last: int) -> int:
    """Return the microseconds in which times are fetched: an hour, or less in a short window."""
    return next((unit for unit in UNITS if (last - first) // unit >= FEWEST_UNITS), 1)


def divisions(units: Ints, unit: int, n: NDArray[np.float64]) -> dict[str, Ints]:
    """Return divisions into epochs, numbered from 0, by name, in the order of how many epochs there are.

    Weeks, days, hours (UTC), and equal blocks of the window's time; divisions that are the same appear once.

    Args:
        units: The time of every row, in units since 1970.
        unit: The length of a unit, in microseconds.
        n: The events of every row.
    """
    first, span = int(units.min()), int(units.max() - units.min()) + 1
    days = units * unit // MICROSECONDS_PER_DAY
    lengths = {"one week": (days + DAYS_BEFORE_MONDAY) // 7, "one day": days, "one hour": units * unit // HOUR}
    lengths |= {f"one of {blocks} equal blocks of time": (units - first) * blocks // span for blocks in BLOCKS}
    numbered = {name: np.unique(epochs, return_inverse=True)[1] for name, epochs in lengths.items()}
    results: dict[str, Ints] = {}
    for name, epochs in sorted(numbered.items(), key=lambda pair: int(pair[1].max())):
        count = int(epochs.max()) + 1
        fits = 2 <= count <= MOST_EPOCHS and n.sum() >= FEWEST_EVENTS * count
        if fits and not any(np.array_equal(epochs, other) for other in results.values()):
            results[name] = epochs
    return results
