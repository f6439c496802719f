"""Logs of a logger that is deterministic at any moment and another one in every block of time."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

START = datetime(2026, 10, 5, tzinfo=UTC)


class Blocks:
    """Contexts of numbers; in every block the highest of linear scores is shown, each block with its own.

    ``truth``: the share of blocks that would show each action; ``popular``: the action that most blocks would show.
    """

    def __init__(self, seed, events=4800, *, columns=4, actions=4, blocks=6, explore=0.0, folds=5):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(events, columns))
        self.block = np.arange(events) * blocks // events
        rules = rng.normal(size=(blocks, columns, actions))
        votes = np.einsum("td,bdk->tbk", self.x, rules).argmax(axis=2)
        self.truth = (votes[:, :, None] == np.arange(actions)).mean(axis=1) * (1 - explore) + explore / actions
        self.shown = votes[np.arange(events), self.block]
        random = rng.random(events) < explore
        self.shown = np.where(random, rng.integers(0, actions, events), self.shown)
        self.popular = self.truth.argmax(axis=1)
        self.means = 0.1 + 0.6 * (np.arange(actions) == self.popular[:, None]) + 0.2 * (self.x[:, :1] > 0)
        self.rewards = (rng.random(events) < self.means[np.arange(events), self.shown]).astype(float)
        self.folds = rng.integers(0, folds, events)
        self.names = [f"x{i}" for i in range(columns)]
        self.contexts = pa.table({name: self.x[:, i] for i, name in enumerate(self.names)})
        self.actions = pa.array(self.shown)
        self.n = np.ones(events)

    @property
    def rows(self):
        return self.contexts, self.actions, self.n, self.folds

    @property
    def true_propensity(self):
        return self.truth[np.arange(len(self.shown)), self.shown]

    @property
    def true_value(self):
        return float(self.means[np.arange(len(self.shown)), self.popular].mean())

    @property
    def policy(self):
        return self.contexts.append_column("a", pa.array(self.popular))

    def mean_weight(self, p):
        return float(((self.shown == self.popular) / np.maximum(p, 5e-4)).mean())

    def log(self, *, hours=24.0):
        """The log, a block every so many hours."""
        size = len(self.shown)
        at = [START + timedelta(hours=hours * float(b) + i % 60 / 60) for i, b in enumerate(self.block)]
        more = {"a": self.shown, "r": self.rewards, "i": np.arange(size), "block": self.block, "at": at}
        return pa.table({**{name: self.contexts[name] for name in self.names}, **more})
