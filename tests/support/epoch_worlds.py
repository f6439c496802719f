"""Worlds with loggers that learn while they log, and a reference by event for bounds over epochs."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from warmstart.estimators.intervals import EpochTotals, Points

STRENGTH, LEVELS = 20.0, 32
FIRST_DAY = np.datetime64("2026-10-01T00:00:00", "us")


@dataclass(frozen=True)
class World:
    """A logger that updates at the end of every epoch, by what it learned in all of them so far.

    ``drift``: by what factor mean rewards grow over the window. ``visits``: of a user, who comes in one epoch if
    ``sticky`` is "epoch", and keeps action and context over several epochs if it is "all"; 0 for independent events.
    """

    kind: str = "thompson"
    epochs: int = 20
    events: int = 400
    contexts: int = 6
    actions: int = 4
    rate: float = 0.2
    drift: float = 1.0
    visits: int = 0
    sticky: str = "epoch"
    shape: float = 0.1
    seed: int = 0

    @cached_property
    def means(self):
        rng = np.random.default_rng(self.seed)
        means = self.rate * rng.gamma(3.0, 1 / 3, size=(self.contexts, self.actions))
        return np.clip(means, 0.0, 0.95 / self.drift)

    def means_in(self, epoch):
        grown = self.drift ** (epoch / max(self.epochs - 1, 1))
        return self.means * grown


@dataclass(frozen=True)
class Log:
    """Events by position: context, action, reward, epoch, mean reward and user."""

    x: np.ndarray
    a: np.ndarray
    r: np.ndarray
    epoch: np.ndarray
    mean: np.ndarray
    user: np.ndarray
    world: World

    @property
    def table(self):
        of_epoch = np.concatenate([np.arange(n) for n in np.bincount(self.epoch)])
        times = FIRST_DAY + self.epoch * np.timedelta64(1, "D") + of_epoch.astype("timedelta64[s]")
        columns = {"context": self.x, "action": self.a, "reward": self.r, "user": self.user}
        return pa.table({**columns, "time": pa.array(times), "version": [f"v{9 - e % 9}-{e}" for e in self.epoch]})

    def first(self, epochs):
        keep = self.epoch < epochs
        parts = {name: getattr(self, name)[keep] for name in ("x", "a", "r", "epoch", "mean", "user")}
        return Log(**parts, world=replace(self.world, epochs=epochs))


def shares(world, wins, shown, x, rng):
    """Draw actions by what was learned so far."""
    n = len(x)
    if world.kind == "uniform":
        return rng.integers(world.actions, size=n)
    if world.kind == "thompson":
        return rng.beta(1 + wins[x], 1 + shown[x] - wins[x]).argmax(axis=1)
    best = ((wins + 0.5) / (shown + 1.0)).argmax(axis=1)[x]
    explore = {"epsilon-greedy": 0.2, "greedy": 0.0}[world.kind]
    # Greedy loggers explore before they know anything.
    explore = 1.0 if not shown.sum() else explore
    return np.where(rng.random(n) < explore, rng.integers(world.actions, size=n), best)


def draw(world, seed):
    rng = np.random.default_rng([world.seed, seed])
    wins, shown = np.zeros((2, world.contexts, world.actions))
    parts = []
    users = max(world.epochs * world.events // max(world.visits, 1), 1)
    frailty = rng.gamma(world.shape, 1 / world.shape, size=users)
    kept_x, kept_a = rng.integers(world.contexts, size=users), np.full(users, -1)
    for epoch in range(world.epochs):
        n = world.events
        x = rng.integers(world.contexts, size=n)
        user = np.arange(n) + epoch * n
        chance = 1.0
        if world.visits:
            per_epoch = users // world.epochs
            user = (
                rng.integers(users, size=n) if world.sticky == "all" else epoch * per_epoch + np.arange(n) % per_epoch
            )
            x, chance = kept_x[user], frailty[user]
        a = shares(world, wins, shown, x, rng)
        if world.visits and world.sticky == "all":
            kept_a[user] = np.where(kept_a[user] < 0, a, kept_a[user])
            a = kept_a[user]
        mean = world.means_in(epoch)[x, a]
        r = (rng.random(n) < np.minimum(mean * chance, 1.0)).astype(float)
        np.add.at(wins, (x, a), r)
        np.add.at(shown, (x, a), 1.0)
        parts.append((x, a, r, np.full(n, epoch), mean, user))
    return Log(*map(np.concatenate, zip(*parts, strict=True)), world=world)


def decisions(world, seed=1):
    """A policy that was fixed beforehand: one action a context, as an array [context, action]."""
    chosen = np.random.default_rng(seed).integers(world.actions, size=world.contexts)
    return np.eye(world.actions)[chosen]


def as_table(h):
    x, a = np.nonzero(h)
    return pa.table({"context": x, "action": a, "probability": h[x, a]})


@dataclass(frozen=True)
class Reference:
    """Value and gain over epochs, with everything by event, and their truths given contexts and actions."""

    value: EpochTotals
    gain: EpochTotals
    true_value: np.ndarray
    true_gain: np.ndarray
    supported: np.ndarray
    events: np.ndarray


def reference(log, h, *, tau, known=None, within=None, unit=None):
    """Weigh every event by counts within (context, epoch); expectations come from earlier epochs.

    Args:
        log: The events.
        h: The policy, [context, action].
        tau: One clipping constant, or one for every epoch.
        known: The mean reward that was known before, and of how many events of no context of the log.
        within: What propensities are counted within, if not epochs: a mutation.
        unit: Whose rewards go together: events by default.
    """
    world, groups = log.world, log.epoch if within is None else within
    taus = np.broadcast_to(tau, world.epochs)
    counts = np.zeros((groups.max() + 1, world.contexts, world.actions))
    np.add.at(counts, (groups, log.x, log.a), 1.0)
    share = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
    wins, seen = np.zeros((2, world.contexts))
    before_n, before_r = (0.0, 0.0) if known is None else (known[1], known[0] * known[1])
    values, gains, truths = [], [], []
    for epoch in range(world.epochs):
        of = log.epoch == epoch
        x, a, r, mean, group = (part[of] for part in (log.x, log.a, log.r, log.mean, groups))
        p, own = share[group, x, a], share[group[0] if within is not None else epoch]
        c = h[x, a] / np.maximum(p, taus[epoch])
        supported = (own >= taus[epoch]) & (own > 0)
        s = (h * supported).sum(axis=1)
        contested = (counts[group[0]] > 0).sum(axis=1) > 1
        u = np.where(contested[x], np.where(supported[x, a], h[x, a] / p, 0.0) - s[x], 0.0)
        rate = None if before_n < 0.5 else (before_r + 0.5) / (before_n + 1)
        f = np.full(len(x), 0.5) if rate is None else ((wins + STRENGTH * rate) / (seen + STRENGTH))[x]
        who = np.arange(of.sum()) if unit is None else unit[of]
        values.append(points(c, r, f, who, known=rate is not None))
        gains.append(points(u, r, f, who, known=rate is not None))
        truths.append((c @ mean, u @ mean, (s[x]).sum(), of.sum()))
        np.add.at(wins, x, r)
        np.add.at(seen, x, 1.0)
        before_n, before_r = before_n + len(x), before_r + r.sum()
    value, gain, supported, events = np.cumsum(truths, axis=0).T
    return Reference(EpochTotals.of(values), EpochTotals.of(gains), value, gain, supported, events)


def points(u, r, f, who, *, known):
    size = np.abs(u)
    doubt = float((u * u * f * (1 - f)).sum())
    f = np.round(f * LEVELS) / LEVELS
    earned = np.where(u > 0, r, 1 - r) * size
    expected = (np.where(u > 0, f, 1 - f) if known else (u > 0).astype(float)) * size
    _, place = np.unique(who, return_inverse=True)
    size, earned, expected = (np.bincount(place, part) for part in (size, earned, expected))
    some = size > 0
    size, earned, expected = size[some], earned[some] / size[some], expected[some] / size[some]
    return Points(size, earned, expected, np.ones(len(size)), doubt, float(np.maximum(-u, 0).sum()), known)


def ever_missed(found, delta):
    """Whether the lower or the upper end of value and gain missed at the end of any epoch."""
    missed = np.zeros(4, dtype=bool)
    for i in range(len(found.events)):
        for j, (totals, truth) in enumerate(((found.value, found.true_value), (found.gain, found.true_gain))):
            lower, upper = totals.ends(delta, i)
            slack = 1e-9 * (1 + abs(truth[i]))
            missed[2 * j : 2 * j + 2] |= (lower > truth[i] + slack, upper < truth[i] - slack)
    return missed
