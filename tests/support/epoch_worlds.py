"""Worlds with loggers that learn while they log, and a reference by event for bounds over epochs.

Nothing here goes through an engine; of the library, only what bets win and rule out.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from tests.support.unit_worlds import clipped_mean, share_ends

from warmstart.estimators.histogram import COARSE
from warmstart.estimators.intervals import EpochTotals, Points
from warmstart.estimators.intervals.bets import log_mean

STRENGTH, LEVELS = 20.0, 32
# How finely coefficients are told apart.
RATIO, SMALLEST = 1.05, 1e-4
FIRST_DAY = np.datetime64("2026-10-01T00:00:00", "us")
NAMES = {"context": "context", "action": "action", "reward": "reward", "time": "time"}


@dataclass(frozen=True)
class World:
    """A logger that updates at the end of every epoch, by what it learned in all of them so far.

    ``drift``: by what factor mean rewards grow over the window. ``visits``: of a user, who keeps action and context,
    and comes in one epoch if ``sticky`` is "epoch", in several if it is "all"; 0 for independent events.
    ``shape``: of users' gamma distributed frailty. ``null``: all actions of a context earn the same. ``turnover``:
    actions come and go, and so do contexts, none of which comes before its own number's epoch.
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
    null: bool = False
    turnover: bool = False
    seed: int = 0

    @cached_property
    def means(self):
        rng = np.random.default_rng(self.seed)
        means = self.rate * rng.gamma(3.0, 1 / 3, size=(self.contexts, self.actions))
        means = np.clip(means, 0.0, 0.95 / self.drift)
        return np.repeat(means[:, :1], self.actions, axis=1) if self.null else means

    def means_in(self, epoch):
        grown = self.drift ** (epoch / max(self.epochs - 1, 1))
        means = self.means * grown
        return clipped_mean(means, self.shape) if self.visits else means

    def live(self, epoch):
        """The actions that may be shown in an epoch: with turnover half of them, each for some epochs on end."""
        places = np.arange(self.actions)
        return (epoch - places) % self.actions < self.actions // 2 if self.turnover else places >= 0


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
        return pa.table({**columns, "time": pa.array(times), "version": [version(e) for e in self.epoch]})


def version(epoch):
    """The name of an epoch: names sort in another order than time."""
    return f"v{9 - epoch % 9}-{epoch}"


def day(epoch):
    """When an epoch begins."""
    return str(FIRST_DAY + epoch * np.timedelta64(1, "D"))


def shares(world, wins, shown, x, epoch, rng):
    """Draw actions by what was learned so far."""
    n, live = len(x), world.live(epoch)
    if world.kind == "uniform":
        return rng.choice(np.flatnonzero(live), size=n)
    if world.kind == "thompson":
        return np.where(live, rng.beta(1 + wins[x], 1 + shown[x] - wins[x]), -1.0).argmax(axis=1)
    best = np.where(live, (wins + 0.5) / (shown + 1.0), -1.0).argmax(axis=1)[x]
    explore = {"epsilon-greedy": 0.2, "greedy": 0.0}[world.kind]
    # Greedy loggers explore before they know anything.
    explore = 1.0 if not shown.sum() else explore
    return np.where(rng.random(n) < explore, rng.choice(np.flatnonzero(live), size=n), best)


def draw(world, seed):
    rng = np.random.default_rng([world.seed, seed])
    wins, shown = np.zeros((2, world.contexts, world.actions))
    parts = []
    users = max(world.epochs * world.events // max(world.visits, 1), 1)
    frailty = rng.gamma(world.shape, 1 / world.shape, size=users)
    kept_x, kept_a = rng.integers(world.contexts, size=users), np.full(users, -1)
    for epoch in range(world.epochs):
        n = world.events
        x = rng.integers(min(world.contexts, epoch + 3) if world.turnover else world.contexts, size=n)
        user = np.arange(n) + epoch * n
        chance = 1.0
        if world.visits:
            per_epoch = users // world.epochs
            user = (
                rng.integers(users, size=n) if world.sticky == "all" else epoch * per_epoch + np.arange(n) % per_epoch
            )
            x, chance = kept_x[user], frailty[user]
        a = shares(world, wins, shown, x, epoch, rng)
        if world.visits:
            # Of a user's actions in an epoch the last one; from then on, that.
            kept_a[user] = np.where(kept_a[user] < 0, a, kept_a[user])
            a = kept_a[user]
        drifted = world.means * world.drift ** (epoch / max(world.epochs - 1, 1))
        r = (rng.random(n) < np.minimum(drifted[x, a] * chance, 1.0)).astype(float)
        np.add.at(wins, (x, a), r)
        np.add.at(shown, (x, a), 1.0)
        parts.append((x, a, r, np.full(n, epoch), world.means_in(epoch)[x, a], user))
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
    """Value and gain over epochs, with everything by event, and their truths given contexts and actions.

    ``supported``: supported events, ``events``: all events, both until the end of each epoch.
    """

    value: EpochTotals
    gain: EpochTotals
    true_value: np.ndarray
    true_gain: np.ndarray
    supported: np.ndarray
    events: np.ndarray
    by_unit: bool

    @property
    def binned(self):
        """The same, with points told apart as finely as an engine does it."""
        divide = binned_units if self.by_unit else binned_events
        value, gain = (EpochTotals.of(map(divide, totals.epochs)) for totals in (self.value, self.gain))
        return replace(self, value=value, gain=gain)

    def at_epoch_ends(self, delta):
        """Value and gain with their ends per event, at the end of every epoch: an array [epoch, 6]."""
        found = []
        for i, events in enumerate(self.events):
            parts = (part for totals in (self.value, self.gain) for part in (totals.earned(i), *totals.ends(delta, i)))
            found.append([part / events for part in parts])
        return np.array(found)


def counted(log, within):
    """Events by what propensities are counted within, context and action; and the shares of actions."""
    counts = np.zeros((within.max() + 1, log.world.contexts, log.world.actions))
    np.add.at(counts, (within, log.x, log.a), 1.0)
    return counts, counts / np.maximum(counts.sum(axis=2, keepdims=True), 1.0)


def reference(log, h, *, tau, start=0, within=None, unit=None):
    """Weigh every event by counts within (context, epoch); expectations come from earlier epochs.

    Args:
        log: The events.
        h: The policy, [context, action] or [epoch, context, action].
        tau: One clipping constant, or one for every epoch that is evaluated.
        start: The first epoch that is evaluated; those before are training.
        within: What propensities are counted within, if not epochs: a mutation.
        unit: Whose rewards go together: events by default.
    """
    world, groups = log.world, log.epoch if within is None else within
    taus = np.broadcast_to(tau, world.epochs - start)
    policies = np.broadcast_to(h, (world.epochs, world.contexts, world.actions))
    counts, share = counted(log, groups)
    wins, seen = np.zeros((2, world.contexts))
    before_n, before_r = 0.0, 0.0
    values, gains, truths = [], [], []
    for epoch in range(world.epochs):
        of = log.epoch == epoch
        x, a, r, mean, group = (part[of] for part in (log.x, log.a, log.r, log.mean, groups))
        if epoch >= start:
            h, floor, own = policies[epoch], taus[epoch - start], share[group[0]]
            p = own[x, a]
            c = h[x, a] / np.maximum(p, floor)
            supported = (own >= floor) & (own > 0)
            s = (h * supported).sum(axis=1)
            contested = (counts[group[0]] > 0).sum(axis=1) > 1
            u = np.where(contested[x], np.where(supported[x, a], h[x, a] / p, 0.0) - s[x], 0.0)
            rate = None if before_n < 0.5 else (before_r + 0.5) / (before_n + 1)
            f = np.full(len(x), 0.5) if rate is None else ((wins + STRENGTH * rate) / (seen + STRENGTH))[x]
            who = None if unit is None else unit[of]
            values.append(points(c, r, f, who, known=rate is not None))
            gains.append(points(u, r, f, who, known=rate is not None))
            truths.append((c @ mean, u @ mean, (s[x]).sum(), of.sum()))
        np.add.at(wins, x, r)
        np.add.at(seen, x, 1.0)
        before_n, before_r = before_n + len(x), before_r + r.sum()
    value, gain, supported, events = np.cumsum(truths, axis=0).T
    return Reference(EpochTotals.of(values), EpochTotals.of(gains), value, gain, supported, events, unit is not None)


def points(u, r, f, who, *, known):
    """What events of one epoch, or the units ``who``, could earn, earned and were expected to."""
    # What rounding leaves of a zero counts as that.
    u = np.where(np.abs(u) < 1e-12, 0.0, u)
    size, shift = np.abs(u), float(np.maximum(-u, 0).sum())
    earned = np.where(u > 0, r, 1 - r) * size
    rounded = nearest_level(f) if who is None else f
    expected = (np.where(u > 0, rounded, 1 - rounded) if known else (u > 0).astype(float)) * size
    doubt = float((u * u * f * (1 - f)).sum())
    if who is not None:
        _, place = np.unique(who, return_inverse=True)
        size, earned, expected = (np.bincount(place, part) for part in (size, earned, expected))
    some = size > 0
    size, earned, expected = size[some], earned[some] / size[some], expected[some] / size[some]
    if who is not None:
        doubt = float((size**2 * (expected * (1 - expected) if known else 0.25)).sum())
    return Points(size, earned, expected, np.ones(len(size)), doubt, shift, known)


def nearest_level(f):
    """The nearest multiple of 1 / LEVELS; of two the one farther from a half."""
    off = (f - 0.5) * LEVELS
    return 0.5 + np.sign(off) * np.floor(np.abs(off) + 0.5 + 1e-9) / LEVELS


def binned_events(some):
    """The same points, each divided between the ends of its bin."""
    first = np.floor(np.log(SMALLEST) / np.log(RATIO))
    low = np.maximum(np.floor(np.log(np.maximum(some.size, 1e-300)) / np.log(RATIO)), first)
    low, high = np.where(low > first, RATIO**low, 0.0), RATIO ** (low + 1)
    place = np.clip((some.size - low) / (high - low), 0, 1)
    size, number = np.concatenate([low, high]), np.concatenate([1 - place, place])
    earned, expected = np.tile(some.earned, 2), np.tile(some.expected, 2)
    return replace(some, size=size, earned=earned, expected=expected, events=number)


def binned_units(some):
    """The same units, each divided between the corners of its bin."""
    low = np.floor(np.log(some.size) / np.log(COARSE.ratio))
    ends = COARSE.ratio**low, COARSE.ratio ** (low + 1)
    place = np.clip((some.size - ends[0]) / (ends[1] - ends[0]), 0, 1)
    sides = [(ends, place)]
    for share in (some.earned, some.expected):
        numbers, above, within = share_ends(share, COARSE)
        sides.append(([np.sin(number * COARSE.step) ** 2 for number in (numbers, above)], within))
    corners, masses = [], []
    for corner in np.ndindex(2, 2, 2):
        masses.append(np.prod([at if up else 1 - at for (_, at), up in zip(sides, corner, strict=True)], axis=0))
        corners.append([pair[up] for (pair, _), up in zip(sides, corner, strict=True)])
    (size, earned, expected), number = np.concatenate(corners, axis=1), np.concatenate(masses)
    doubt = float((size**2 * number * expected * (1 - expected)).sum()) if some.known else some.variance
    return replace(some, size=size, earned=earned, expected=expected, events=number, variance=doubt)


def ever_missed(found, delta):
    """Whether the ends of value and gain, lower and upper, missed at the end of any epoch: ruled out the truth."""
    limit, missed = np.log(2 / delta), []
    for totals, truth in ((found.value, found.true_value), (found.gain, found.true_gain)):
        below, above = [], []
        for now, value in zip(totals.standings, truth, strict=True):
            slack = 1e-9 * (1 + abs(value))
            below.append(rules_out(now.below, value + now.offset + slack, limit))
            above.append(rules_out(now.above, now.most - value - now.offset + slack, limit))
        missed += [any(below), any(above)]
    return np.array(missed)


def rules_out(wealth, q, limit):
    return len(wealth.bets) > 0 and log_mean(wealth.logs - wealth.bets * q, wealth.weights) >= limit


def earned_on_supported(log, h, *, tau, within):
    """What a policy earned, and was to be expected to earn, on supported traffic, each divided by all events."""
    _, share = counted(log, within)
    p = share[within, log.x, log.a]
    ratio = np.where(p >= tau, h[log.x, log.a] / p, 0.0)
    return np.array([ratio @ log.r, ratio @ log.mean]) / len(log.x)
