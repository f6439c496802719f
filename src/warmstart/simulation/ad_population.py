"""Pages and ads of a simulated month: topics, qualities, candidate ads per page, click probabilities."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from math import gcd
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from warmstart.simulation.ad_settings import AdSettings
from warmstart.simulation.streams import Stream, pair_normal, pair_sign, stream

MATCH_WEIGHT, OFF_TOPIC = 1.6, 0.3
QUALITY_SPREAD, PAGE_SPREAD, PAIR_SPREAD = 0.5, 0.4, 0.15
# The share of a page's candidates that are of any topic.
ANY_TOPIC = 0.3
HIGHEST_PROBABILITY = 0.6
CHUNK = 100_000


def chunks(size: int, rows: int = CHUNK) -> list[slice]:
    """Return the slices that divide ``size`` rows into parts of ``rows``, so that memory stays flat."""
    return [slice(begin, min(begin + rows, size)) for begin in range(0, size, rows)]


@dataclass(frozen=True, eq=False)
class Population:
    """Arrays by page and by ad. ``candidates[x]``: the ads that page x can show, -1 for an empty place.

    Pages and ads have two topics, ``weight`` on the first and the rest on the second.
    """

    settings: AdSettings
    scale: float
    page_topics: NDArray[np.int16]
    page_weight: NDArray[np.float32]
    page_effect: NDArray[np.float32]
    ad_topics: NDArray[np.int16]
    ad_weight: NDArray[np.float32]
    quality: NDArray[np.float32]
    candidates: NDArray[np.int32]

    @classmethod
    def draw(cls, settings: AdSettings) -> Self:
        """Draw pages, ads and candidates; scale click probabilities to the overall rate asked for."""
        pages, ads = settings.n_contexts, settings.n_actions
        rng = stream(settings.seed, Stream.PAGES)
        page_topics, page_weight = _topics(rng, pages, settings.topics)
        page_effect = _log_normal(rng, pages, PAGE_SPREAD)
        rng = stream(settings.seed, Stream.ADS)
        ad_topics, ad_weight = _topics(rng, ads, settings.topics)
        ad_topics[: settings.topics, 0] = np.arange(settings.topics)
        quality = _log_normal(rng, ads, QUALITY_SPREAD)
        candidates = np.empty((pages, settings.candidates), dtype=np.int32)
        drawn = cls(settings, 0.01, page_topics, page_weight, page_effect, ad_topics, ad_weight, quality, candidates)
        drawn._draw_candidates()
        return replace(drawn, scale=drawn.scale * settings.click_rate / drawn._click_rate())

    @property
    def evergreen(self) -> int:
        """Return the number of ads that never stop: the first ones, one per topic, a candidate on all its pages."""
        return self.settings.topics

    def click_probability(self, pages: NDArray[np.int64], ads: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return mu(x, a), the click probability of pages and ads, mean over the month.

        ``ads`` may have a row of ads for every page; -1 gives 0.
        """
        at = np.asarray(pages).reshape(-1, *([1] * (np.ndim(ads) - 1)))
        shown = np.maximum(ads, 0)
        first, second = self.ad_topics[shown, 0], self.ad_topics[shown, 1]
        weight = self.ad_weight[shown]
        match = np.zeros(shown.shape, dtype=np.float32)
        for topic, share in ((0, self.page_weight[at]), (1, 1 - self.page_weight[at])):
            own = self.page_topics[at, topic]
            match += share * ((own == first) * weight + (own == second) * (1 - weight))
        normal = pair_normal(self.settings.seed, at.astype(np.int64), shown.astype(np.int64))
        pair = np.exp(np.float32(PAIR_SPREAD) * normal)
        rate = np.float32(self.scale) * self.page_effect[at] * self.quality[shown]
        probability = np.minimum(rate * (OFF_TOPIC + MATCH_WEIGHT * match) * pair, HIGHEST_PROBABILITY)
        return np.where(np.asarray(ads) >= 0, probability, 0).astype(np.float32)

    def drift(self, ads: NDArray[np.int32], day: NDArray[np.float64] | float) -> NDArray[np.float32]:
        """Return the factor by which drift changes click probabilities on a day; its mean over the month is 1."""
        sign = pair_sign(self.settings.seed, np.maximum(ads, 0).astype(np.int64), np.zeros(1, dtype=np.int64))
        middle = 2 * (np.asarray(day) + 0.5) / self.settings.days - 1
        return (1 + self.settings.drift * sign * middle).astype(np.float32)

    def segment_sign(self, pages: NDArray[np.int64], ads: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return +1 where the hidden segment of users clicks more on this page and ad, -1 where the others do."""
        return pair_sign(self.settings.seed + 1, pages.astype(np.int64), np.maximum(ads, 0).astype(np.int64))

    def traffic(self) -> NDArray[np.float64]:
        """Return the probability of every page: its popularity rank is log-uniform."""
        ranks = np.arange(1, self.settings.n_contexts + 1, dtype=np.float64)
        shares = np.empty(self.settings.n_contexts)
        shares[self.page_of_rank(ranks.astype(np.int64))] = np.log1p(1 / ranks) / np.log(self.settings.n_contexts + 1)
        return shares

    def draw_pages(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw pages as traffic does."""
        ranks = np.exp(rng.random(size) * np.log(self.settings.n_contexts + 1)).astype(np.int64)
        return self.page_of_rank(np.clip(ranks, 1, self.settings.n_contexts))

    def page_of_rank(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return page numbers of popularity ranks, scattered so that a number does not reveal its page's rank."""
        size = self.settings.n_contexts
        step = next(i for i in itertools.count(int(size * 0.618) + 1) if gcd(i, size) == 1)
        pages: NDArray[np.int64] = ranks * step % size
        return pages

    def save(self, folder: Path) -> None:
        """Write the arrays as .npy files, without pickle."""
        for name in self._arrays():
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path, settings: AdSettings, scale: float) -> Self:
        """Return a saved population, its arrays memory-mapped."""
        return cls(settings, scale, *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in cls._arrays()))

    @classmethod
    def _arrays(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name not in ("settings", "scale")]

    def _click_rate(self) -> float:
        """Return the mean click probability over the traffic if candidates are shown uniformly."""
        traffic, total = self.traffic(), 0.0
        for rows in chunks(self.settings.n_contexts):
            ads = self.candidates[rows]
            clicks = self.click_probability(np.arange(rows.start, rows.stop), ads)
            total += float((traffic[rows] * (clicks.sum(axis=1) / (ads >= 0).sum(axis=1))).sum())
        return total

    def _draw_candidates(self) -> None:
        """Fill in the candidates: the topic's evergreen ad, then ads of the page's topics, popular ones more often."""
        settings = self.settings
        by_topic = np.argsort(self.ad_topics[:, 0], kind="stable").astype(np.int32)
        counts = np.bincount(self.ad_topics[:, 0], minlength=settings.topics)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        for part, rows in enumerate(chunks(settings.n_contexts)):
            rng = stream(settings.seed, Stream.CANDIDATES, part)
            topics = self.page_topics[rows]
            shape = (len(topics), settings.candidates)
            on_first = rng.random(shape, dtype=np.float32) < self.page_weight[rows][:, None]
            topic = np.where(on_first, topics[:, :1], topics[:, 1:])
            place = (rng.random(shape) ** 2 * counts[topic]).astype(np.int64)
            ads = by_topic[starts[topic] + place]
            off_topic = rng.random(shape, dtype=np.float32) < ANY_TOPIC
            ads[off_topic] = rng.integers(settings.n_actions, size=int(off_topic.sum()), dtype=np.int32)
            ads[:, 0] = topics[:, 0]
            for column in range(1, settings.candidates):
                ads[(ads[:, :column] == ads[:, column : column + 1]).any(axis=1), column] = -1
            self.candidates[rows] = ads


def _topics(rng: np.random.Generator, size: int, topics: int) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    chosen = rng.integers(topics, size=(size, 2), dtype=np.int16)
    return chosen, rng.uniform(0.5, 1.0, size=size).astype(np.float32)


def _log_normal(rng: np.random.Generator, size: int, spread: float) -> NDArray[np.float32]:
    drawn: NDArray[np.float32] = np.exp(
        np.float32(spread) * rng.standard_normal(size, dtype=np.float32) - np.float32(spread**2 / 2)
    )
    return drawn
