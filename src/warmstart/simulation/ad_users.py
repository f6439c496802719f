"""The users of a simulated month while it is drawn: who comes when, to which page, and which ad they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.simulation.ad_population import Population
from warmstart.simulation.streams import Stream, stream
from warmstart.simulation.users import UserSettings


class AdUsers:
    """Users who come back all month.

    A user who keeps an ad keeps that of the first visit, on all pages that can show it, until it stops; then the next.
    """

    def __init__(self, population: Population, users: UserSettings) -> None:
        settings = population.settings
        rng = stream(settings.seed, Stream.USERS)
        self.settings = users
        self._population = population
        self._visits = users.draw(settings.events, rng)
        self._factors = users.factors(settings.events, rng)
        number = users.count(settings.events)
        self._segments = rng.integers(2, size=number)
        self._pages = population.draw_pages(number, rng) if users.sticky == "both" else None
        self._ads = np.full(number, -1, dtype=np.int32)

    def of_day(self, day: int) -> NDArray[np.int32]:
        """Return the users of a day's events, in the order of time."""
        settings = self._population.settings
        start = sum(settings.events_of_day(i) for i in range(day))
        return self._visits[start : start + settings.events_of_day(day)]

    def pages(self, users: NDArray[np.int32], pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pages that users visit: their own, if they keep them, or those drawn for the events."""
        return pages if self._pages is None else self._pages[users]

    def segments(self, users: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the hidden segments that users belong to."""
        return self._segments[users]

    def keep_ads(
        self, users: NDArray[np.int32], pages: NDArray[np.int64], places: NDArray[Any], live: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """Return the positions of the ads that users are shown.

        Args:
            users: The user of every event of a day, in the order of time.
            pages: The page.
            places: The position, among the page's candidates, of the ad that the logging policy would show.
            live: Which ads can be shown on that day.
        """
        if self.settings.sticky == "nothing":
            return places
        candidates = self._population.candidates
        who, first = np.unique(users, return_index=True)
        # The last entry stands for users without an ad (-1).
        new = ~np.append(live, False)[self._ads[who]]
        self._ads[who[new]] = candidates[pages[first[new]], places[first[new]]]
        same = candidates[pages] == self._ads[users][:, None]
        return np.where(same.any(axis=1), same.argmax(axis=1), places).astype(places.dtype)

    def chances(self, probability: NDArray[np.float32], users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the click probabilities of users, given those of their pages and ads."""
        return self.settings.chances(np.minimum(probability, 1), users, self._factors)
