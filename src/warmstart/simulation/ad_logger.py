"""The simulated logging policy: deterministic within a day, changing from day to day, limited by budgets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warmstart.simulation.ad_population import Population, chunks
from warmstart.simulation.learners import Learner
from warmstart.simulation.streams import Stream, stream

# How much the logger knows of click probabilities (1: everything), its error about a pair, and how bids move.
SKILL, MISBELIEF = 0.5, 0.4
BIDS_KEPT, BIDS_MOVED = 0.8, 0.6
# A reacting logger adds this to the clicks and shows of a pair before it divides them.
PRIOR_SHOWS = 20.0
FOREVER = np.int16(32_767)


class AdLogger:
    """A logging policy that chooses one live candidate per page and day; ads stop when their budget is spent.

    With a learner it does so in the first period, and the learner chooses for every event after that.
    """

    def __init__(self, population: Population) -> None:
        settings = population.settings
        self.population = population
        self.start, self.stop = self._plan()
        self._rng = stream(settings.seed, Stream.BIDS)
        self._bids = self._rng.standard_normal(settings.n_actions, dtype=np.float32)
        # Random budgets in impressions, some days' worth of a typical ad's traffic, and in clicks.
        typical = settings.events / settings.days / max(settings.n_actions, 1)
        self._left = typical * settings.days * np.exp(self._rng.standard_normal(settings.n_actions)) * 2
        self._clicks_left = settings.click_budget * self._rng.uniform(0.5, 1.5, size=settings.n_actions)
        self._belief = self._beliefs()
        shape = population.candidates.shape if settings.reaction else (0, 0)
        self._shows, self._clicks = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.learner = None if settings.learner is None else Learner(settings.learner, population.candidates)
        self._learner_rng = stream(settings.seed, Stream.LEARNER)

    def live(self, day: int) -> NDArray[np.bool_]:
        """Return which ads can be shown on a day."""
        return (self.start <= day) & (day < self.stop)

    def choose(self, day: int) -> NDArray[np.int8]:
        """Return the position of the chosen candidate by hidden segment (one row if there is none) and page."""
        settings = self.population.settings
        if day:
            moved = self._rng.standard_normal(settings.n_actions, dtype=np.float32)
            self._bids = np.float32(BIDS_KEPT) * self._bids + np.float32(BIDS_MOVED) * moved
        # The last entry stands for empty places (-1).
        bids = np.append(np.where(self.live(day), self._bids, -np.inf), -np.inf).astype(np.float32)
        signs = (-1.0, 1.0) if settings.hidden else (0.0,)
        chosen = np.empty((len(signs), settings.n_contexts), dtype=np.int8)
        for rows in chunks(settings.n_contexts):
            ads = self.population.candidates[rows]
            score = self._belief[rows] + bids[ads]
            if settings.reaction:
                seen = self._clicks[rows] + PRIOR_SHOWS * settings.click_rate
                score += settings.reaction * (seen / (self._shows[rows] + PRIOR_SHOWS) - settings.click_rate)
            for i, sign in enumerate(signs):
                if sign:
                    pages = np.arange(rows.start, rows.stop)[:, None]
                    leaning = sign * 2 * settings.hidden * self.population.segment_sign(pages, ads)
                    chosen[i, rows] = (score + leaning).argmax(axis=1)
                else:
                    chosen[i, rows] = score.argmax(axis=1)
        return chosen

    def learned_places(self, day: int, pages: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the positions of the candidates that events show by a learner; ties go to the ad believed best."""
        if self.learner is None:
            raise ValueError("This logger has no learner.")
        live = np.append(self.live(day), False)
        places = np.empty(len(pages), dtype=np.int8)
        for rows in chunks(len(pages)):
            x = pages[rows]
            available = live[self.population.candidates[x]]
            places[rows] = self.learner.choose(x, available, self._belief[x], self._learner_rng)
        return places

    def end_of_day(
        self, day: int, pages: NDArray[np.int64], places: NDArray[np.int8], clicks: NDArray[np.bool_]
    ) -> None:
        """Count impressions and clicks; ads whose budget is spent stop tomorrow."""
        settings = self.population.settings
        ads = self.population.candidates[pages, places]
        spent = np.zeros(settings.n_actions, dtype=bool)
        if settings.churn:
            self._left -= np.bincount(ads, minlength=settings.n_actions)
            spent |= self._left <= 0
        if settings.click_budget:
            self._clicks_left -= np.bincount(ads[clicks], minlength=settings.n_actions)
            spent |= self._clicks_left <= 0
        spent[: self.population.evergreen] = False
        self.stop[spent & (self.stop > day + 1)] = day + 1
        if settings.reaction:
            cells = pages * settings.candidates + places
            size = settings.n_contexts * settings.candidates
            self._shows += np.bincount(cells, minlength=size).reshape(self._shows.shape)
            self._clicks += np.bincount(cells[clicks], minlength=size).reshape(self._clicks.shape)

    def _plan(self) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return the days on which ads start, and on which those with a limited run stop."""
        settings = self.population.settings
        rng = stream(settings.seed, Stream.ADS, 1)
        start = np.zeros(settings.n_actions, dtype=np.int16)
        stop = np.full(settings.n_actions, FOREVER)
        if settings.churn:
            days = settings.days
            late = rng.random(settings.n_actions) < 0.5
            start[late] = rng.integers(1, max(days - 3, 2), size=int(late.sum()))
            limited = rng.random(settings.n_actions) < 0.5
            length = rng.integers(max(days // 5, 1), days, size=int(limited.sum()))
            age = np.where(late[limited], 0, rng.integers(days, size=length.size))
            stop[limited] = np.maximum(start[limited] + length - age, 1)
        start[: self.population.evergreen], stop[: self.population.evergreen] = 0, FOREVER
        return start, stop

    def _beliefs(self) -> NDArray[np.float32]:
        population = self.population
        beliefs = np.empty(population.candidates.shape, dtype=np.float32)
        for part, rows in enumerate(chunks(len(beliefs))):
            ads = population.candidates[rows]
            known = population.click_probability(np.arange(rows.start, rows.stop), ads)
            error = stream(population.settings.seed, Stream.BELIEFS, part).standard_normal(ads.shape, dtype=np.float32)
            beliefs[rows] = np.float32(SKILL) * np.log(np.maximum(known, 1e-9)) + np.float32(MISBELIEF) * error
        return beliefs
