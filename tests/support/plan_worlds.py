"""Logs that go on as a plan says, on sums: how often the certified gain of the continuation has its lower end above 0.

Planning (``Continuation``) and proving (``gain_ends``, ``unit_gain_ends``, ``EpochTotals``) are the library's own. A
continuation is drawn anew: contexts, actions (of a logger that draws anew for each event, or once for every context and
day), exploration, rewards. Its training window is the log that was planned from.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from warmstart.auditing.continuation import ChosenCells, Continuation, UnitVisits
from warmstart.estimators.intervals import (
    Coefficients,
    EpochTotals,
    GainSums,
    Points,
    UnitTotals,
    gain_ends,
    unit_gain_ends,
)

STRENGTH, LEVELS, DELTA = 20.0, 32, 0.05


@dataclass(frozen=True)
class World:
    """Contexts of traffic 1 / rank; action 0 is the policy's. ``unsupported``: logging shows it in no busy context."""

    rate: float
    events: int = 20_000
    contexts: int = 50
    actions: int = 4
    gain: float = 0.1
    daily: bool = False
    days: int = 30
    unsupported: float = 0.0
    seed: int = 0

    def __post_init__(self):
        rng = np.random.default_rng([self.seed, round(1000 * self.rate)])
        traffic = 1 / np.arange(1, self.contexts + 1)
        shares = rng.dirichlet(np.ones(self.actions), size=self.contexts)
        never = np.arange(self.contexts) < self.unsupported * self.contexts
        shares[never, 0] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
        level = np.log(self.rate / (1 - self.rate)) + 0.3 * rng.normal(size=self.contexts)
        base = 1 / (1 + np.exp(-level))
        # So that all traffic would gain so much of the mean reward.
        traffic = traffic / traffic.sum()
        differs = 1 - shares[:, 0]
        lift = self.gain * (traffic * base).sum() / (traffic * differs).sum()
        for name, value in {"traffic": traffic, "shares": shares, "base": base, "lift": lift}.items():
            object.__setattr__(self, name, value)

    def shown(self, rng, events, *, explored=None, share=0.0):
        """Draw events by day, context and action: an array [day, x, a]."""
        days = max(round(events / self.events * self.days), 1)
        traffic = rng.multinomial(events, np.tile(self.traffic / days, days)).reshape(days, -1)
        tried = np.zeros_like(traffic)
        if share:
            tried = rng.binomial(traffic, share * explored)
        left = traffic - tried
        if self.daily:
            chosen = (rng.random((days, self.contexts, 1)) > np.cumsum(self.shares, axis=1)).sum(axis=2)
            n = np.eye(self.actions, dtype=int)[np.minimum(chosen, self.actions - 1)] * left[:, :, None]
        else:
            n = rng.multinomial(left, self.shares)
        n[:, :, 0] += tried
        return n

    def rewards(self, rng, n):
        means = np.repeat(self.base[:, None], self.actions, axis=1)
        means[:, 0] += self.lift
        assert means.max() < 1
        return rng.binomial(n, means)


def as_table(n, s, first=0):
    """Events of a log [day, x, a], day by day from the first one: page, ad, click, at."""
    repeats = np.stack([s, n - s], axis=-1).ravel()
    day, page, ad = (np.repeat(np.repeat(part.ravel(), 2), repeats) for part in np.indices(n.shape))
    minutes = (np.arange(len(day)) % 1440).astype("timedelta64[m]").astype("timedelta64[s]")
    at = np.datetime64("2026-10-01") + (first + day).astype("timedelta64[D]") + minutes
    names = {"page": [f"p{i}" for i in page], "ad": [f"a{i}" for i in ad]}
    return pa.table({**names, "click": np.repeat(np.tile([1.0, 0.0], n.size), repeats), "at": at})


def decisions(world):
    """The policy as a table."""
    return pa.table({"page": [f"p{i}" for i in range(world.contexts)], "ad": ["a0"] * world.contexts})


def expected_before(n, s):
    """The mean reward of contexts, shrunk, as evaluate learns it from a training window."""
    rate = s.sum() / n.sum()
    return (s.sum(axis=1) + STRENGTH * rate) / (n.sum(axis=1) + STRENGTH)


def chosen_cells(n, expected, explored, *, by_day=False):
    """The policy's cells of a log [x, a], one bin for each; by day of a log [day, x, a]."""
    n = n.astype(float)
    traffic = n.sum(axis=-1)
    p = np.divide(n[..., 0], traffic, out=np.zeros_like(traffic), where=traffic > 0)
    flat = {"events": traffic, "propensity": p, "favoured": p}
    shape = traffic.shape
    flat |= {"expected": np.broadcast_to(expected, shape), "explored": np.broadcast_to(explored, shape)}
    flat = {name: part.ravel()[traffic.ravel() > 0] for name, part in flat.items()}
    ones = np.ones_like(flat["events"])
    return ChosenCells(number=ones, probability=ones, decided=ones, rest=1 - flat["propensity"], **flat)


def gain_sums(n, s, tau, expected):
    """The sums of the gain of a continuation [x, a], as ``evaluate`` makes them with a training window."""
    traffic = n.sum(axis=1)
    p = np.divide(n[:, 0], traffic, out=np.zeros(len(n)), where=traffic > 0)
    supported = (p > 0) & (p >= tau) & (p < 1)
    n, s, p, e = n[supported], s[supported], p[supported], expected[supported]
    own, rest = n[:, 0].astype(float), n[:, 1:].sum(axis=1).astype(float)
    u, events = np.concatenate([1 / p - 1, -np.ones_like(p)]), np.concatenate([own, rest])
    rewards = np.concatenate([s[:, 0], s[:, 1:].sum(axis=1)]).astype(float)
    e = np.tile(e, 2)
    off = (e - 0.5) * LEVELS
    levels = 0.5 + np.sign(off) * np.floor(np.abs(off) + 0.5) / LEVELS
    variance = float((u * u * events * e * (1 - e)).sum())
    return GainSums(Coefficients(u, events, rewards), levels, float(own.sum() + rest.sum()), variance)


def is_proven(n, s, tau, expected, *, known=True):
    sums = gain_sums(n, s, tau, expected)
    if not known:
        by_u = sums.by_u
        sums = GainSums(by_u, None, sums.traffic, float((by_u.values**2 * by_u.events).sum()))
    return gain_ends(sums, DELTA)[0] > 0


def is_proven_by_epoch(n, s, tau, expected):
    """Whether bets over days prove the gain, with what the training window expects."""
    epochs = []
    for own_n, own_s in zip(n, s, strict=True):
        sums = gain_sums(own_n, own_s, tau, expected)
        u, events, rewards, b = sums.by_u.values, sums.by_u.events, sums.by_u.rewards, sums.baselines
        positive = (u > 0).astype(float)
        epochs.append(
            Points(
                np.tile(np.abs(u), 2),
                np.concatenate([positive, 1 - positive]),
                np.tile(np.where(u > 0, b, 1 - b), 2),
                np.concatenate([rewards, events - rewards]),
                sums.variance,
                float((np.maximum(-u, 0) * events).sum()),
            ).present
        )
    return EpochTotals.of(epochs).ends(DELTA)[0] > 0


def planned(world, *, share=0.0, tau=0.05, known=True, by_day=False, power=0.8, log=0):
    """Plan from one log: the continuation, how many times the log it takes, and what is expected of contexts."""
    rng = np.random.default_rng([world.seed, 1, log])
    n = world.shown(rng, world.events)
    s = world.rewards(rng, n)
    whole_n, whole_s = n.sum(axis=0), s.sum(axis=0)
    expected = expected_before(whole_n, whole_s)
    p = whole_n[:, 0] / np.maximum(whole_n.sum(axis=1), 1)
    if by_day and share:
        # Where the policy's choice is too rare in some epoch.
        p = np.min(n[:, :, 0] / np.maximum(n.sum(axis=2), 1), axis=0)
    explored = (p < share) if share else np.zeros(len(p), dtype=bool)
    tau = share / 2 if share else tau
    cells = chosen_cells(n if by_day else whole_n, expected, explored)
    plan = Continuation(cells, share, tau, world.lift, known, epochs=len(n) if by_day else None)
    return plan, plan.times(power, DELTA), expected, explored


def share_proven(world, *, logs, plans=50, known=True, by_day=False, **options):
    """How often a continuation as long as planned proves the gain, over several plans; and how many events that is."""
    proven, lengths = [], []
    for i in range(logs):
        if i % -(-logs // plans) == 0:
            plan, times, expected, explored = planned(world, known=known, by_day=by_day, log=i, **options)
            lengths.append(round(times * world.events))
        rng = np.random.default_rng([world.seed, 2, i])
        n = world.shown(rng, lengths[-1], explored=explored, share=plan.share)
        s = world.rewards(rng, n)
        if by_day:
            proven.append(is_proven_by_epoch(n, s, plan.tau, expected))
        else:
            proven.append(is_proven(n.sum(axis=0), s.sum(axis=0), plan.tau, expected, known=known))
    return np.mean(proven), np.mean(lengths)


@dataclass(frozen=True)
class UserWorld:
    """Users with about ``visits`` each, rewards alike; logging takes the policy's action with chance ``shown``.

    ``keep``: how often a user is shown an action of their own instead of a new draw.
    """

    users: int = 3_000
    visits: float = 8.0
    pages: int = 10
    rate: float = 0.2
    alike: float = 0.3
    shown: float = 0.3
    keep: float = 0.0
    gain: float = 0.1

    @property
    def lift(self):
        return self.gain * self.rate / (1 - self.shown)

    def draw(self, rng, users, share=0.0):
        """Users, pages, whether the policy's action was shown, and rewards of all events."""
        user = np.repeat(np.arange(users), rng.geometric(1 / self.visits, size=users))
        page, own = rng.integers(self.pages, size=len(user)), rng.random(users) < self.shown
        taken = np.where(rng.random(len(user)) < self.keep, own[user], rng.random(len(user)) < self.shown)
        taken |= rng.random(len(user)) < share
        level = np.minimum(rng.gamma(1 / self.alike, self.alike, size=users), 3.0) if self.alike else np.ones(users)
        means = self.rate * (level / level.mean())[user] + self.lift * taken
        return user, page, taken, (rng.random(len(user)) < np.minimum(means, 1.0)).astype(float)


def coefficients(page, taken, pages, tau):
    """The u of every event, 0 where the policy is not supported."""
    p = np.array([taken[page == x].mean() for x in range(pages)])
    supported = (p > 0) & (p >= tau)
    own = np.maximum(p, 1e-9)[page]
    return np.where(supported[page], np.where(taken, 1 / own - 1, -1.0), 0.0)


def unit_totals(user, u, click):
    """Users by what they could gain and gained, as ``evaluate`` sums them without a training window."""
    size = np.bincount(user, np.abs(u))
    some = size > 0
    won = np.bincount(user, np.where(u > 0, u * click, -u * (1 - click)))
    share = np.bincount(user, np.maximum(u, 0))[some] / size[some]
    sums = float((u * u).sum()), float((np.bincount(user, u) ** 2).sum())
    return UnitTotals(size[some], won[some] / size[some], np.ones(some.sum()), *sums, share, known=False)


def intraclass(user, click):
    """The intraclass correlation of rewards by user."""
    n, r, mean = np.bincount(user), np.bincount(user, click), click.mean()
    variance = ((click - mean) ** 2).sum()
    pairs = ((r - n * mean) ** 2).sum() - variance
    return max(pairs / (n * (n - 1)).sum() / (variance / len(click)), 0.0)


def share_proven_by_unit(world, *, logs, plans=10, share=0.0, tau=0.05):
    """How often a continuation as long as planned proves the gain by unit, and how many events that is."""
    proven, lengths = [], []
    tau = share / 2 if share else tau
    for i in range(logs):
        if i % -(-logs // plans) == 0:
            rng = np.random.default_rng([3, i])
            user, page, taken, click = world.draw(rng, world.users)
            n = np.stack([np.bincount(page, part, minlength=world.pages) for part in (taken, ~taken)], axis=1)
            s = np.stack([np.bincount(page, part * click, minlength=world.pages) for part in (taken, ~taken)], axis=1)
            explored = np.full(world.pages, bool(share))
            together = 1.0
            if not share:
                totals = unit_totals(user, coefficients(page, taken, world.pages, tau), click)
                together = max(totals.dependent / totals.independent, 1.0)
            counts = np.unique(np.bincount(user), return_counts=True)
            visits = UnitVisits(*(part.astype(float) for part in counts), intraclass(user, click), together)
            cells = chosen_cells(n, expected_before(n, s), explored)
            times = Continuation(cells, share, tau, world.lift, known=False, visits=visits).times(0.8, DELTA)
            lengths.append(times * len(user))
        rng = np.random.default_rng([4, i])
        user, page, taken, click = world.draw(rng, round(times * world.users), share)
        u = coefficients(page, taken, world.pages, tau)
        proven.append(unit_gain_ends(unit_totals(user, u, click), len(user), DELTA)[0] > 0)
    return np.mean(proven), np.mean(lengths)
