"""Logs of users who come back, as arrays, with exact truths; and their sums by unit, for the library's own intervals.

A user's chance of a reward is min(1, mean * z), z gamma distributed with mean 1: smaller shapes, more dependence. Users
may keep their action, or action and context, for all visits. Nothing here goes through an engine.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import gamma

from warmstart.estimators.histogram import COARSE, FINE
from warmstart.estimators.intervals import (
    Coefficients,
    GainSums,
    TermSums,
    UnitTotals,
    bets_ends,
    gain_ends,
    gain_evidence,
    log_sum,
    unit_gain_ends,
    unit_value_ends,
)

TAU = 0.05


@dataclass(frozen=True)
class Users:
    """How many users, how often they come, how much their rewards go together, and what they keep.

    ``heavy``: so many of them come 400 times; ``slope``: rewards fall with visits, as visits to the power of -slope.
    """

    users: int = 1_500
    visits: int = 20
    shape: float | None = 0.25
    sticky: str = "both"
    heavy: int = 0
    slope: float = 0.0
    rate: float = 0.05
    contexts: int = 20
    actions: int = 4
    null: bool = False


@dataclass(frozen=True, eq=False)
class Log:
    """One row an event; ``means``: the exact mean reward of an event given its context, action and user's visits."""

    unit: np.ndarray
    x: np.ndarray
    a: np.ndarray
    r: np.ndarray
    means: np.ndarray
    mean_of: np.ndarray
    settings: Users

    @property
    def visits(self):
        return np.bincount(self.unit)[self.unit]


def clipped_mean(mean, shape):
    """The mean of min(1, mean * z), z gamma distributed with mean 1, in closed form."""
    if shape is None:
        return mean
    edge = shape / mean
    return mean * gamma.cdf(edge, shape + 1) + gamma.sf(edge, shape)


def draw(settings, seed):
    """Draw a log. The world (mean rewards, logging policy) is the same for all seeds."""
    world, rng = np.random.default_rng(7), np.random.default_rng([seed, 11])
    users, k, m = settings.users, settings.contexts, settings.actions
    pi = world.dirichlet(np.full(m, 2.0), k).cumsum(axis=1)
    level = settings.rate * np.exp(0.3 * world.normal(size=(k, m)))
    level = np.repeat(level[:, :1], m, axis=1) if settings.null else level
    visits = np.full(users, settings.visits)
    visits[: settings.heavy] = 400
    unit = np.repeat(np.arange(users), visits)
    events = len(unit)
    x = rng.integers(0, k, users)[unit] if settings.sticky == "both" else rng.integers(0, k, events)
    place = rng.random(events) if settings.sticky == "none" else rng.random(users)[unit]
    a = (place[:, None] >= pi[x]).sum(axis=1).clip(max=m - 1)
    factor = (visits / settings.visits) ** -settings.slope
    z = np.ones(users) if settings.shape is None else rng.gamma(settings.shape, 1 / settings.shape, users)
    chance = level[x, a] * factor[unit]
    r = (rng.random(events) < np.minimum(chance * z[unit], 1)).astype(float)
    of_factor = {f: clipped_mean(level * f, settings.shape) for f in np.unique(factor)}
    mean_of = np.stack([of_factor[f] for f in factor])
    return Log(unit, x, a, r, mean_of[unit, x, a], mean_of, settings)


def decisions(settings, seed=3):
    """A deterministic policy: an action for every context."""
    return np.random.default_rng(seed).integers(0, settings.actions, settings.contexts)


def unit_totals(log, h, *, per="event", counted=None, unit=None):
    """The library's sums by unit for the value and the gain of a policy, and their exact truths.

    ``counted``: the weights that propensities are counted with, unlike ``per`` only for a mutation, as is ``unit``.
    """
    k, m = log.settings.contexts, log.settings.actions
    w = 1 / log.visits if per == "unit" else np.ones(len(log.x))
    counts = w if counted is None else counted
    unit = log.unit if unit is None else unit
    cell = log.x * m + log.a
    n, in_context = np.bincount(cell, counts, k * m).reshape(k, m), np.bincount(log.x, counts, k)
    p = n / np.maximum(in_context, 1e-300)[:, None]
    chosen = np.eye(m)[h]
    total = w.sum()
    c = (chosen / np.maximum(p, TAU))[log.x, log.a]
    supported = (p >= TAU) & (p > 0)
    share = (chosen * supported).sum(axis=1)
    u = (np.where(supported, chosen / np.maximum(p, 1e-300), 0.0) - share[:, None])[log.x, log.a]
    # What the policy's action would have earned at each event, given the user's visits.
    own = log.mean_of[log.unit, log.x, h[log.x]]
    kept = np.minimum(1.0, p[np.arange(k), h] / TAU)[log.x]
    traffic = (w * share[log.x]).sum()
    truth = {"value": (w * own * kept).sum() / total, "gain": (w * share[log.x] * (own - log.means)).sum() / traffic}
    sizes, size = np.bincount(unit, w * c), np.bincount(unit, w * np.abs(u))
    earned, won = np.bincount(unit, w * c * log.r), np.bincount(unit, w * np.where(u > 0, u * log.r, -u * (1 - log.r)))
    above, net = np.bincount(unit, w * np.maximum(u, 0)), np.bincount(unit, w * u)
    # Bets are planned as if weights were the same within all cells.
    spread = (w * w).sum() / total
    value = UnitTotals(*_shares(sizes, earned), spread * (w * c * c).sum(), (sizes**2).sum())
    independent = spread * (w * u * u).sum()
    gains = UnitTotals(*_shares(size, won), independent, (net**2).sum(), _shares(size, above)[1], known=False)
    return Found(value, gains, total, traffic, truth, (w * c * log.r).sum() / total)


def _shares(size, part):
    present = size > 0
    return size[present], np.clip(part[present] / size[present], 0.0, 1.0), np.ones(present.sum())


@dataclass(frozen=True, eq=False)
class Found:
    value: UnitTotals
    gains: UnitTotals
    events: float
    traffic: float
    truth: dict
    estimate: float

    @property
    def gain(self):
        """The observed gain per event of supported traffic: what units won beyond the worst, less what that is."""
        below = self.gains.size * (1 - self.gains.expected)
        return (self.gains.size * self.gains.earned - below).sum() / self.traffic

    def ends(self, delta):
        """The ends of value and gain per event of supported traffic."""
        return {
            "value": unit_value_ends(self.value, self.events, delta),
            "gain": unit_gain_ends(self.gains, self.traffic, delta),
        }

    def certified(self, delta):
        """Whether a gain above zero is certified at delta / 2."""
        limit = np.log(2 / delta)
        return log_sum(gain_evidence([self.gains], self.traffic, limit)(0.0)) >= limit


def event_ends(found, delta):
    """The library's ends by event, from totals of which every event is a unit of its own."""
    value, gains = _collapsed(found.value), _collapsed(found.gains)
    c, n, rewards = value.size, value.units, value.units * value.earned
    by_weight = Coefficients(c, n, rewards)
    sums = ((c * rewards).sum(), (c * c * rewards).sum(), (c * n).sum(), (c * c * n).sum(), c.max(), 1 / TAU)
    u = np.where(gains.expected > 0.5, gains.size, -gains.size)
    won = gains.units * np.where(u > 0, gains.earned, 1 - gains.earned)
    by_u = Coefficients(u, gains.units, won)
    return {
        "value": bets_ends(TermSums(found.events, *sums, by_weight), delta),
        "gain": gain_ends(GainSums(by_u, None, found.traffic, float((u * u * gains.units).sum())), delta),
    }


def _collapsed(units):
    expected = np.zeros_like(units.size) if units.expected is None else units.expected
    points, position = np.unique(
        np.stack([units.size, units.earned, expected], axis=1).round(12), axis=0, return_inverse=True
    )
    number = np.bincount(position.ravel()).astype(float)
    return replace(units, size=points[:, 0], earned=points[:, 1], expected=points[:, 2], units=number)


def binned(units):
    """The same totals, each unit divided between the corners of its bin as the engine does it."""
    expected = np.zeros_like(units.size) if units.expected is None else units.expected
    grid = FINE if units.expected is None else COARSE
    sides = [_size_ends(units.size, grid), share_ends(units.earned, grid), share_ends(expected, grid)]
    parts = {}
    for corner in np.ndindex(2, 2, 2):
        mass = units.units.copy()
        for (_, _, place), upper in zip(sides, corner, strict=True):
            mass = mass * (place if upper else 1 - place)
        keys = [low + upper for (low, _, _), upper in zip(sides, corner, strict=True)]
        for key, part in zip(zip(*keys, strict=True), mass, strict=True):
            parts[key] = parts.get(key, 0.0) + part
    keys, mass = np.array(list(parts)), np.array(list(parts.values()))
    size = units.size.max() * grid.ratio ** keys[:, 0].astype(float)
    earned, share = (np.sin(np.minimum(keys[:, i], grid.steps) * grid.step) ** 2 for i in (1, 2))
    kept = mass > 0
    found = replace(units, size=size[kept], earned=earned[kept], units=mass[kept])
    if units.expected is None:
        return found
    net = size[kept] * (2 * share[kept] - 1)
    return replace(found, expected=share[kept], dependent=float((mass[kept] * net**2).sum()))


def _size_ends(size, grid):
    size = size / size.max()
    low = np.floor(np.log(size) / np.log(grid.ratio)).astype(int)
    return low, low + 1, np.clip((size / grid.ratio ** low.astype(float) - 1) / (grid.ratio - 1), 0, 1)


def share_ends(share, grid):
    low = np.minimum(np.floor(np.arcsin(np.sqrt(share)) / grid.step), grid.steps - 1).astype(int)
    ends = [np.sin(number * grid.step) ** 2 for number in (low, low + 1)]
    return low, low + 1, np.clip((share - ends[0]) / (ends[1] - ends[0]), 0, 1)
