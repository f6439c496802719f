"""The events of a day of a simulated month: who comes, what is shown, what is clicked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import MICROSECONDS_PER_DAY
from warmstart.simulation.ad_logger import AdLogger
from warmstart.simulation.ad_population import Population
from warmstart.simulation.ad_settings import FIRST_DAY
from warmstart.simulation.ad_users import AdUsers
from warmstart.simulation.streams import Stream, stream
from warmstart.simulation.users import USER


@dataclass(frozen=True, eq=False)
class _Visits:
    """Events before an ad is shown, in the order of time.

    ``draws``: uniform, clicks where below the click probability. ``at_random``: the position of the ad that is shown at
    random, -1 where the logger chooses.
    """

    day: int
    pages: NDArray[np.int64]
    moments: NDArray[np.int64]
    draws: NDArray[np.float32]
    segment: NDArray[np.int64]
    at_random: NDArray[np.int8]
    users: NDArray[np.int32] | None

    def part(self, rows: slice) -> _Visits:
        return _Visits(
            self.day,
            self.pages[rows],
            self.moments[rows],
            self.draws[rows],
            self.segment[rows],
            self.at_random[rows],
            None if self.users is None else self.users[rows],
        )


def events_of_day(logger: AdLogger, users: AdUsers | None, day: int, chosen: NDArray[np.int8]) -> pa.Table:
    """Return the log of a day, and tell the logger.

    Args:
        logger: The logging policy.
        users: Those who come back, if any.
        day: The day.
        chosen: What the logger chooses on this day by segment and page, if it does not learn.
    """
    visits = _visits(logger, users, day, len(chosen))
    places = np.empty(len(visits.pages), dtype=np.int8)
    clicks = np.empty(len(visits.pages), dtype=bool)
    for period, rows in _periods(logger, visits):
        part = visits.part(rows)
        places[rows] = _places(logger, users, part, chosen, period)
        clicks[rows] = _clicks(logger.population, users, part, places[rows])
        if logger.learner is not None:
            logger.learner.observe(part.pages, places[rows], clicks[rows])
    logger.end_of_day(day, visits.pages, places, clicks)
    ads = logger.population.candidates[visits.pages, places]
    shown_at = pa.array(FIRST_DAY + day * MICROSECONDS_PER_DAY + visits.moments, pa.timestamp("us", "UTC"))
    shown = {"page": visits.pages, "ad": ads.astype(np.int64), "click": clicks.astype(np.int8)}
    named = {} if visits.users is None else {USER: visits.users.astype(np.int64)}
    return pa.table({**shown, "shown_at": shown_at, **named})


def _visits(logger: AdLogger, users: AdUsers | None, day: int, segments: int) -> _Visits:
    population = logger.population
    settings = population.settings
    rng = stream(settings.seed, Stream.EVENTS, day)
    size = settings.events_of_day(day)
    pages = population.draw_pages(size, rng)
    moments = np.sort(rng.integers(MICROSECONDS_PER_DAY, size=size))
    draws = rng.random(size, dtype=np.float32)
    segment = rng.integers(segments, size=size)
    visitors = None
    if users is not None:
        visitors = users.of_day(day)
        pages, segment = users.pages(visitors, pages), users.segments(visitors) % segments
    at_random = np.full(size, -1, dtype=np.int8)
    if settings.random_share:
        rows = np.flatnonzero(rng.random(size) < settings.random_share)
        showable = np.append(logger.live(day), False)[population.candidates[pages[rows]]]
        at_random[rows] = np.where(showable, rng.random(showable.shape, dtype=np.float32), -1).argmax(axis=1)
    return _Visits(day, pages, moments, draws, segment, at_random, visitors)


def _periods(logger: AdLogger, visits: _Visits) -> Iterator[tuple[int, slice]]:
    """Yield the periods of a day, each with its part of the events; the whole day if nothing is learned."""
    if logger.learner is None:
        yield 0, slice(0, len(visits.pages))
    else:
        yield from logger.learner.settings.parts(visits.day * MICROSECONDS_PER_DAY + visits.moments)


def _places(
    logger: AdLogger, users: AdUsers | None, visits: _Visits, chosen: NDArray[np.int8], period: int
) -> NDArray[Any]:
    if logger.learner is not None:
        logger.learner.begin(period)
    if logger.learner is not None and logger.learner.has_learned:
        places = logger.learned_places(visits.day, visits.pages)
    else:
        places = chosen[visits.segment, visits.pages]
    places = np.where(visits.at_random >= 0, visits.at_random, places)
    if users is None or visits.users is None:
        return places
    return users.keep_ads(visits.users, visits.pages, places, logger.live(visits.day))


def _clicks(
    population: Population, users: AdUsers | None, visits: _Visits, places: NDArray[np.int8]
) -> NDArray[np.bool_]:
    settings = population.settings
    ads = population.candidates[visits.pages, places]
    chances: NDArray[Any] = population.click_probability(visits.pages, ads)
    if settings.drift:
        chances *= population.drift(ads, visits.day)
    if settings.hidden:
        sign = population.segment_sign(visits.pages, ads) * (2 * visits.segment - 1)
        chances *= 1 + np.float32(settings.hidden) * sign
    if users is not None and visits.users is not None:
        chances = users.chances(chances, visits.users)
    clicks: NDArray[np.bool_] = visits.draws < chances
    return clicks
