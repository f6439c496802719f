"""What an audit says of units (users, sessions), whose events may depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.results.audit import Check, Spread

# From here on, units are said to keep their actions.
STICKY = 0.05


@dataclass(frozen=True)
class PossibleUnit:
    """A column that is named like a unit, how many values it has, and the mean number of events of a value."""

    column: str
    values: int
    events_per_value: float


@dataclass(frozen=True)
class Stickiness:
    """How often two events of a context show the ``same`` action if they are of one unit, and of two (``chance``).

    ``events``: of units that came back to the context, of which this is the mean.
    """

    events: int
    same: float
    chance: float

    @property
    def excess(self) -> float:
        """Return 0 if actions do not stick to units, 1 if a unit always sees the same action in a context."""
        return (self.same - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0


@dataclass(frozen=True)
class UnitFacts:
    """What is known of the units (clusters). ``largest``: the share of events of the one that has most.

    ``design_effect``: variance of the mean reward by unit / by event, so that the log is worth as much as
    ``independent_events``; ``gain_design_effect``: the same for the gain of a typical policy. ``visits``: the test
    whether rewards go with how often a unit comes.
    """

    columns: tuple[str, ...]
    units: int
    events_per_unit: Spread
    largest: float
    design_effect: float | None
    independent_events: float | None
    gain_design_effect: float | None
    stickiness: Stickiness | None
    visits: Check
