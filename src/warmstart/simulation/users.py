"""Users who come back to a simulated log: how often, how they differ, and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from warmstart.core import UsageError, quoted
from warmstart.simulation.checks import require_number
from warmstart.simulation.frailty import Frailty

USER = "user"
Sticky = Literal["nothing", "action", "both"]
Per = Literal["event", "unit"]
MOST_VISITS = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class UserSettings:
    """Users of a simulated log: its events are their visits, in random order, and it names them in a column ``user``.

    Users are numbered from 0, the heavy ones first. The events decide how many there are; the last may have fewer
    visits. What a user does at one visit does not depend on the rewards of another.

    Args:
        visits: The visits of a user who is not heavy.
        heavy_users: How many users have ``heavy_visits`` instead.
        heavy_visits: Their visits.
        heavy_rate: The mean reward of heavy users relative to the others', in every context and for every action. Below
            1 rewards go with visits, and the truths per event and per unit differ.
        frailty: The shape of a gamma distributed factor of mean 1 on a user's chance of a reward: the smaller, the more
            the rewards of a user depend on each other. Means over users stay exact (see ``Frailty``). None: no factor.
        sticky: What a user keeps for all visits: ``nothing``, the ``action``, or ``both`` action and context.
    """

    visits: int = 20
    heavy_users: int = 0
    heavy_visits: int = 400
    heavy_rate: float = 1.0
    frailty: float | None = None
    sticky: Sticky = "nothing"

    def __post_init__(self) -> None:
        for name, least in (("visits", 1), ("heavy_users", 0), ("heavy_visits", 1)):
            require_number(name, getattr(self, name), least, MOST_VISITS, whole=True)
        require_number("heavy_rate", self.heavy_rate, 0, 1)
        if self.frailty is not None:
            require_number("frailty", self.frailty, 0.05, 1_000)
        if self.sticky not in get_args(Sticky):
            known = ", ".join(get_args(Sticky))
            raise UsageError(f"sticky must be one of {known}, and is {quoted(self.sticky)}.")

    def check_events(self, events: int) -> None:
        """Refuse a log that is too short for the visits of its heavy users."""
        if self.heavy_users * self.heavy_visits > events:
            visits = f"{self.heavy_users:,} heavy users with {self.heavy_visits:,} visits each"
            raise UsageError(f"{events:,} events are too few for {visits}.")

    def count(self, events: int) -> int:
        """Return how many users a log of so many events has."""
        light = events - self.heavy_users * self.heavy_visits
        return self.heavy_users + -(-light // self.visits)

    def draw(self, events: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the user of every event."""
        heavy = np.repeat(np.arange(self.heavy_users, dtype=np.int32), self.heavy_visits)
        light = np.arange(events - len(heavy), dtype=np.int32) // self.visits + self.heavy_users
        users = np.concatenate([heavy, light]).astype(np.int32)
        rng.shuffle(users)
        return users

    def rates(self, users: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean rewards of users relative to those of users who are not heavy."""
        return np.where(users < self.heavy_users, self.heavy_rate, 1.0)

    def mean_rate(self, events: int, *, per: Per) -> float:
        """Return the mean of ``rates`` over the events of a log, or over its users."""
        heavy = self.heavy_users * self.heavy_visits / events
        share = self.heavy_users / self.count(events) if per == "unit" else heavy
        return 1 - share * (1 - self.heavy_rate)

    def factors(self, events: int, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """Draw the frailty factors of the users of a log; None if they do not differ."""
        return None if self.frailty is None else Frailty(self.frailty).factors(self.count(events), rng)

    def chances(
        self, means: NDArray[Any], users: NDArray[np.int32], factors: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the chances of a reward at visits.

        Args:
            means: The mean rewards of what is shown, over users who are not heavy.
            users: The user of every visit.
            factors: The frailty factors of all users, from ``factors``.
        """
        own = means * self.rates(users)
        return own if factors is None or self.frailty is None else Frailty(self.frailty).chances(own, factors[users])
