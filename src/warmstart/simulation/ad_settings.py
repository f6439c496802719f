"""Settings of a simulated ad month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from warmstart.core import UsageError, microseconds, quoted
from warmstart.simulation.checks import require_number
from warmstart.simulation.learners import EVENT, LearnerSettings
from warmstart.simulation.users import UserSettings

SCALES: Mapping[str, dict[str, int]] = {
    "small": {"events": 1_000_000, "n_contexts": 20_000, "n_actions": 4_000},
    "medium": {"events": 10_000_000, "n_contexts": 400_000, "n_actions": 60_000},
    "paper": {"events": 54_000_000, "n_contexts": 3_400_000, "n_actions": 880_000},
}
LARGEST = 2**31 - 1
FIRST_DAY = microseconds("2026-10-01")


@dataclass(frozen=True)
class AdSettings:
    """The size of the month, and which assumptions of off-policy estimates it violates.

    ``click_rate``: the mean click probability of the ads that pages can show, over the traffic. ``random_share``: of
    the events, those whose ad is drawn at random among the live ones. ``churn``: ads start, run out of budget and stop.
    ``reaction``: how strongly tomorrow's choice follows the clicks so far. ``click_budget``: ads also stop after about
    so many clicks (0: never). ``drift``: the change of click probabilities over the month, as a share. ``hidden``: the
    effect of a segment of users that the logger knows and the log lacks, as a share. ``users``: those who come back and
    whom the log names, if any; click probabilities are then those of users who are not heavy. ``learner``: chooses the
    ads by the clicks of the month so far, if there is one; the logger without it chooses before its first update.
    """

    events: int
    n_contexts: int
    n_actions: int
    seed: int = 0
    days: int = 30
    topics: int = 50
    candidates: int = 12
    vocabulary: int = 20_000
    context_words: int = 50
    action_words: int = 30
    click_rate: float = 0.02
    random_share: float = 0.0
    churn: bool = True
    reaction: float = 0.0
    click_budget: float = 0.0
    drift: float = 0.0
    hidden: float = 0.0
    users: UserSettings | None = None
    learner: LearnerSettings | None = None

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self) if field.type == "int"):
            self._require(name, 0 if name == "seed" else 1, LARGEST, whole=True)
        self._require("candidates", 2, 100)
        self._require("days", 2, 366)
        self._require("click_rate", 0.0001, 0.2)
        self._require("reaction", 0, 1_000)
        self._require("click_budget", 0, LARGEST)
        for name in ("random_share", "drift", "hidden"):
            self._require(name, 0, 1)
        if self.n_actions < 2 * self.topics:
            raise UsageError(
                f"{self.n_actions} ads are too few for {self.topics} topics.", "Every topic needs two ads or more."
            )
        if self.events < self.days:
            raise UsageError(f"{self.events} events cannot fill {self.days} days.")
        if self.vocabulary < 20 * (self.topics + 1):
            raise UsageError(f"{self.vocabulary} words are too few for {self.topics} topics.", "Allow 20 a topic.")
        if self.users is not None:
            self.users.check_events(self.events)
        self._check_learner()

    @classmethod
    def of_scale(cls, scale: str, **numbers: Any) -> Self:
        """Return the settings of a scale, with the given numbers replaced."""
        if scale not in SCALES:
            raise UsageError(f"There is no scale {quoted(scale)}.", f"Choose one of {', '.join(SCALES)}.")
        given = {name: number for name, number in numbers.items() if number is not None}
        if unknown := sorted(given.keys() - cls.__dataclass_fields__.keys()):
            raise UsageError(f"There is no setting {quoted(unknown[0])}.")
        return cls(**{**SCALES[scale], **given})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name; those of users and of a learner only if there are any."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Return settings from what ``to_dict`` made of them."""
        parts = {"users": UserSettings, "learner": LearnerSettings}
        return cls(**{**settings, **{name: kind(**settings[name]) for name, kind in parts.items() if name in settings}})

    def events_of_day(self, day: int) -> int:
        """Return how many events a day has."""
        return self.events // self.days + (day < self.events % self.days)

    def _check_learner(self) -> None:
        if self.learner is None:
            return
        if self.learner.updates_per_day == EVENT:
            hint = "Give a number of updates per day; a TableWorld can learn from every event."
            raise UsageError("A learner of ads cannot be updated after every event.", hint)
        for name, why in (("reaction", "it follows clicks as it is"), ("hidden", "it does not know the segment")):
            if getattr(self, name):
                raise UsageError(f"A learner cannot be combined with {name}: {why}.", "Leave out one of them.")

    def _require(self, name: str, low: float, high: float, *, whole: bool = False) -> None:
        require_number(name, getattr(self, name), low, high, whole=whole)
