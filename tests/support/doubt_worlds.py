"""Worlds in which the logger used a segment that the context columns lack, by exactly as much as a doubt allows."""

from dataclasses import dataclass

import numpy as np

from warmstart.estimators.intervals import Coefficients, GainBins, TermSums


@dataclass(frozen=True)
class HiddenWorld:
    """Events by context, hidden segment and action (``n``), their mean rewards, and what the policy chooses (``h``)."""

    n: np.ndarray
    means: np.ndarray
    h: np.ndarray

    @property
    def shown(self):
        return self.n.sum(axis=1)

    @property
    def p(self):
        return self.shown / self.shown.sum(axis=1, keepdims=True)

    @property
    def traffic(self):
        return self.n.sum()

    @property
    def value(self):
        """What the policy is expected to earn on the window's traffic, hidden segments included."""
        return (self.n.sum(axis=2)[:, :, None] * self.h[:, None, :] * self.means).sum() / self.traffic

    @property
    def gain(self):
        return self.value - (self.n * self.means).sum() / self.traffic

    def ratios(self):
        """What events that were shown an action earn with it, relative to the others, where the policy takes it."""
        away = self.n.sum(axis=2)[:, :, None] - self.n
        own = (self.n * self.means).sum(axis=1) / self.n.sum(axis=1)
        others = (away * self.means).sum(axis=1) / away.sum(axis=1)
        return np.stack([own / others, (1 - own) / (1 - others)])[:, self.h > 0]

    def draw(self, rng):
        """Draw rewards by context and action, given everything else."""
        return rng.binomial(self.n.astype(int), self.means).sum(axis=1)

    def flipped(self):
        return HiddenWorld(self.n, 1 - self.means, self.h)


def hidden_world(seed, ratio, *, rate=0.15, deterministic=False, mixed=False, contexts=12):
    """A world where events that were shown an action earn ``ratio`` times what the others would, in every context.

    ``deterministic``: each context and segment is shown one action a day; ``mixed``: the policy takes two of three.
    """
    rng = np.random.default_rng(seed)
    events = rng.integers(300, 900, contexts)
    inside = np.stack([events, events], axis=1)
    leaning = np.array([[0.9, 0.06, 0.04], [0.08, 0.5, 0.42]])
    if deterministic:
        # Each day one action; in both segments every action on some days.
        days = 20 * leaning + rng.permuted([[-0.2, 0.0, 0.2]] * 2 * contexts, axis=1).reshape(contexts, 2, 3)
        n = np.round(inside[:, :, None] * days / 20)
    else:
        n = np.stack([[rng.multinomial(inside[x, g], leaning[g]) for g in range(2)] for x in range(contexts)])
        n = np.maximum(n, 1)
    n = n.astype(float)
    h = np.zeros((contexts, 3))
    h[:, 0] = 0.7 if mixed else 1.0
    h[:, 1] = 0.3 if mixed else 0.0
    away = n.sum(axis=2)[:, :, None] - n
    own, others = n / n.sum(axis=1, keepdims=True), away / away.sum(axis=1, keepdims=True)
    # Means of the two segments with the given ratio of what the two kinds of events earn.
    first, second = own[:, 0] - ratio * others[:, 0], ratio * others[:, 1] - own[:, 1]
    base = rate * rng.uniform(0.7, 1.3, (contexts, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = np.where(second > 0, first / second, np.nan)
    # Where an action leans the other way its segments do not differ: no ratio but 1.
    possible = np.isfinite(tilt) & (tilt >= 0)
    tilt = np.where(possible, tilt, 1.0)
    means = np.stack([base / np.maximum(tilt, 1), base / np.maximum(tilt, 1) * tilt], axis=1)
    assert possible[:, 0].all()
    return HiddenWorld(n, np.clip(means, 0.0, 1.0), h)


def gain_bins(world, s, *, known):
    """What the certified gain needs of one draw of rewards, every cell a bin of its own."""
    n, p, h = world.shown, world.p, world.h
    d = np.divide(h * (1 - p), p, out=np.zeros_like(p), where=(p > 0) & (h > 0))
    e = 1 - h
    b = np.full(n.shape, np.round(32 * (world.n * world.means).sum() / world.traffic) / 32)
    doubtful = b * (1 - b) if known else np.ones_like(b)
    d, e, n, s, b, doubtful = (part.ravel().astype(float) for part in (d, e, n, s, b, doubtful))
    return GainBins(
        stands_for=(d, d),
        against=(e, e),
        n=n,
        rewards=s,
        sums=(d * n, e * n),
        won=(d * s, e * s),
        products=(d * d * n * doubtful, d * e * n * doubtful, e * e * n * doubtful),
        baselines=b if known else None,
        traffic=world.traffic,
    )


def value_terms(world, s, slope):
    """What the certified value needs of one draw, if others count ``slope``."""
    n, p, h = world.shown, world.p, world.h
    c = (h / p * (p + (1 - p) * slope)).ravel()
    n, s = n.ravel(), s.ravel().astype(float)
    sums = ((c * s).sum(), (c * c * s).sum(), (c * n).sum(), (c * c * n).sum(), c.max(), c.max())
    return TermSums(n.sum(), *sums, Coefficients(c, n, s))
