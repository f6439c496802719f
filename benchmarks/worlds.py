"""Four simulated worlds to judge learners in, each unlike the library's own simulator, each with its exact truth.

``topics``: clicks follow mixed topics of words and a quality of the ad. ``clusters``: hidden clusters of users and
items, of which a noisy category of the users says little. ``ids``: no features; factors of contexts and of actions,
and a few pairs that differ. ``thresholds``: numbers, contexts that never repeat, rewards by a small tree an action.
The logger is hidden: deterministic within a day, another one every day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws

NAMES: dict[str, Any] = {"context": "context", "action": "action", "reward": "reward", "time": "time"}
DAYS = 30
DAY = 86_400_000_000

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class World:
    """A log and its truth.

    ``means[x, a]``: expected rewards. ``traffic[x]``: what a context counts in a value, 0 where it is not asked.
    ``allowed[x, a]``: what may be chosen. ``unseen``: the contexts to decide for, where the log has none of them.
    """

    events: pa.Table
    contexts: pa.Table | None
    actions: pa.Table | None
    means: Floats
    traffic: Floats
    allowed: Flags
    unseen: pa.Table | None = None

    def read(self) -> ws.Events:
        return ws.read_events(self.events, **NAMES)

    def truth(self, decisions: pa.Table) -> float:
        """Return the expected reward of decisions, one for every context that counts."""
        x, a = decisions["context"].to_numpy(), decisions["action"].to_numpy()
        counted = self.traffic > 0
        if len(np.unique(x)) < len(x) or not counted[x].all() or len(x) < counted.sum():
            raise ValueError("Decide once for every context that counts.")
        if not self.allowed[x, a].all():
            raise ValueError("An action that was never shown in its context was chosen.")
        return float((self.traffic[x] * self.means[x, a]).sum() / self.traffic.sum())

    def scaled(self, value: float) -> float:
        """Return a value on the scale from uniform over the feasible actions (0) to the best feasible (1)."""
        return (value - self.uniform) / (self.best - self.uniform)

    @cached_property
    def uniform(self) -> float:
        each = (self.means * self.allowed).sum(axis=1) / np.maximum(self.allowed.sum(axis=1), 1)
        return float(self.traffic @ each / self.traffic.sum())

    @cached_property
    def best(self) -> float:
        return float(self.traffic @ np.where(self.allowed, self.means, 0).max(axis=1) / self.traffic.sum())

    @property
    def best_decisions(self) -> pa.Table:
        x = np.flatnonzero(self.traffic > 0)
        return pa.table({"context": x, "action": np.where(self.allowed, self.means, -1)[x].argmax(axis=1)})


def topics(
    seed: int, *, events: int = 300_000, pages: int = 3_000, ads: int = 300, kinds: int = 12, vocabulary: int = 1_500
) -> World:
    """Pages (text) and ads (lists of words) mix topics; log-odds of a click by both mixtures, page and ad."""
    rng = np.random.default_rng(seed)
    spelled = np.array([f"w{i}" for i in range(vocabulary)])
    words = rng.dirichlet(np.full(vocabulary, 0.03), size=kinds)
    page_topics, ad_topics = rng.dirichlet(np.full(kinds, 0.2), size=pages), rng.dirichlet(np.full(kinds, 0.15), ads)
    fits = 3.0 * np.eye(kinds) + rng.normal(0, 0.7, size=(kinds, kinds))
    levels = rng.normal(0, 0.5, size=(pages, 1)), rng.normal(0, 0.5, size=(1, ads))
    means = 1 / (1 + np.exp(4.0 - page_topics @ fits @ ad_topics.T - levels[0] - levels[1]))

    def text(mixture: Floats, length: int) -> list[str]:
        return [str(word) for word in rng.choice(spelled, size=length, p=mixture @ words)]

    texts = [" ".join(text(one, 40)) for one in page_topics]
    lists = [text(one, 10) for one in ad_topics]
    return _repeating(
        rng,
        means,
        events=events,
        candidates=8,
        contexts=pa.table({"context": np.arange(pages), "text": texts}),
        actions=pa.table({"action": np.arange(ads), "words": lists}),
    )


def clusters(
    seed: int, *, events: int = 300_000, users: int = 4_000, items: int = 200, kinds: tuple[int, int] = (12, 10)
) -> World:
    """Rates by the cluster of the user and that of the item; users have a category that is right two times in five."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(kinds[0], size=users), rng.integers(kinds[1], size=items)
    rates = 0.06 * rng.gamma(1.5, 1 / 1.5, size=kinds)
    means = np.minimum(rates[user][:, item] * rng.gamma(8.0, 1 / 8, size=(users, 1)), 0.9)
    segment = np.where(rng.random(users) < 0.4, user, rng.integers(kinds[0], size=users))
    device = rng.choice(["phone", "tablet", "desktop"], size=users)
    named = [f"segment-{number}" for number in segment]
    contexts = pa.table({"context": np.arange(users), "segment": named, "device": device})
    return _repeating(rng, means, events=events, candidates=8, contexts=contexts)


def ids(seed: int, *, events: int = 200_000, contexts: int = 2_000, actions: int = 100) -> World:
    """Factors of contexts and of actions; one pair in ten does far better or far worse than they say."""
    rng = np.random.default_rng(seed)
    means = 0.05 * rng.gamma(4.0, 1 / 4, size=(contexts, 1)) * rng.gamma(4.0, 1 / 4, size=(1, actions))
    differs = rng.random(means.shape) < 0.1
    means = np.where(differs, means * rng.choice([0.2, 4.0], size=means.shape), means)
    return _repeating(rng, np.minimum(means, 0.9), events=events, candidates=8)


def thresholds(
    seed: int, *, events: int = 100_000, unseen: int = 20_000, columns: int = 10, actions: int = 10
) -> World:
    """Every event has numbers of its own; the reward of an action is a step of two or three of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(events + unseen, columns))
    x[:, ::3] = np.exp(x[:, ::3])
    means = np.column_stack([_tree(x, rng) for _ in range(actions)])
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    slopes = _drifting(rng, (columns + 1, actions))
    day = _days(events)
    known = np.log(means[:events]) - np.log(means[:events]).mean(axis=0)
    shown = np.empty(events, dtype=np.int64)
    for one in range(DAYS):
        rows = day == one
        shown[rows] = (z[:events][rows] @ slopes[one][1:] + slopes[one][0] + 0.5 * known[rows]).argmax(axis=1)
    numbers = {f"x{i}": x[:, i] for i in range(columns)}
    tables = pa.table({"context": np.arange(events + unseen), **numbers})
    return World(
        events=_log(rng, np.arange(events), shown, means),
        contexts=tables.slice(0, events),
        actions=None,
        means=means,
        traffic=(np.arange(events + unseen) >= events).astype(float),
        allowed=np.ones(means.shape, dtype=bool),
        unseen=tables.slice(events),
    )


WORLDS: dict[str, Callable[..., World]] = {"topics": topics, "clusters": clusters, "ids": ids, "thresholds": thresholds}


def _tree(x: Floats, rng: np.random.Generator) -> Floats:
    """Return rewards by a tree of depth three with its own columns and thresholds, from .05 to .6."""
    leaf = np.zeros(len(x), dtype=np.int64)
    for depth in range(3):
        column = rng.integers(x.shape[1], size=2**depth)
        cut = np.quantile(x, rng.uniform(0.25, 0.75, size=2**depth), axis=0)[np.arange(2**depth), column]
        leaf = 2 * leaf + (x[np.arange(len(x)), column[leaf]] > cut[leaf])
    rates: Floats = np.exp(rng.uniform(np.log(0.05), np.log(0.6), size=8))
    return rates[leaf]


def _repeating(
    rng: np.random.Generator,
    means: Floats,
    *,
    events: int,
    candidates: int,
    contexts: pa.Table | None = None,
    actions: pa.Table | None = None,
) -> World:
    """Return a world of contexts that repeat: each has some candidates, and one of them is shown on a day."""
    number = len(means)
    places = rng.random(means.shape).argpartition(candidates, axis=1)[:, :candidates]
    known = np.log(np.take_along_axis(means, places, axis=1))
    belief = 0.5 * known + rng.normal(0, 0.4, size=places.shape)
    bids = _drifting(rng, (means.shape[1],))
    chosen = np.stack([places[np.arange(number), (belief + 0.7 * bid[places]).argmax(axis=1)] for bid in bids])
    traffic = rng.permutation(1 / (np.arange(number) + number / 20) ** 0.8)
    x = rng.choice(number, size=events, p=traffic / traffic.sum())
    shown = chosen[_days(events), x]
    allowed = np.zeros(means.shape, dtype=bool)
    allowed[x, shown] = True
    return World(
        events=_log(rng, x, shown, means),
        contexts=contexts,
        actions=actions,
        means=means,
        traffic=np.where(allowed.any(axis=1), traffic, 0.0),
        allowed=allowed,
    )


def _drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return standard normal numbers that change from day to day."""
    values = [rng.normal(size=shape)]
    for _ in range(DAYS - 1):
        values.append(0.8 * values[-1] + 0.6 * rng.normal(size=shape))
    return np.stack(values)


def _days(events: int) -> Numbers:
    return np.arange(events) * DAYS // events


def _log(rng: np.random.Generator, x: Numbers, shown: Numbers, means: Floats) -> pa.Table:
    reward = (rng.random(len(x)) < means[x, shown]).astype(float)
    time = pa.array(np.arange(len(x)) * (DAYS * DAY // len(x)), pa.timestamp("us", "UTC"))
    return pa.table({"context": x, "action": shown, "reward": reward, "time": time})
