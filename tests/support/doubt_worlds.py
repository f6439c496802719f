"""Worlds in which the logger used a segment that the context columns lack, by exactly as much as a doubt allows."""

from dataclasses import dataclass, replace

import numpy as np

from warmstart.estimators.epochs import gain_points
from warmstart.estimators.intervals import Coefficients, EpochTotals, GainBins, TermSums, UnitTotals, lines
from warmstart.estimators.unit_shares import gain_offset, gain_shares, value_shares


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


class Columns(dict):
    """Totals of units as the library's own formulas read them: names and arrays in the place of a table."""

    columns = property(dict.keys)


def unit_columns(world, s, *, visits, rate=None):
    """What units whose ``visits`` all earn the same could gain and gained: rewarded and other units of every cell.

    Returns columns, how many units each row stands for, and the sums of the columns as ``UnitSums`` has them.
    """
    n, p, h = world.shown, world.p, world.h
    d = np.divide(h * (1 - p), p, out=np.zeros_like(p), where=h > 0)
    e = 1 - h
    units = np.stack([s, n - s]).reshape(2, -1).ravel()
    r = np.repeat([1.0, 0.0], n.size)
    d, e, c, p = (np.tile(visits * part.ravel(), 2) for part in (d, e, np.divide(h, p), p))
    above, below, mixed = np.maximum(d - e, 0), np.maximum(e - d, 0), np.minimum(d, e)
    parts = {"size": above + below, "won": above * r + below * (1 - r), "expected": above, "worst": below}
    parts |= {"above": above, "above_won": above * r, "mixed": mixed, "mixed_won": mixed * r}
    if rate is not None:
        parts |= {"expected": above * rate + below * (1 - rate)}
        parts |= {"above_expected": above * rate, "mixed_expected": mixed * rate}
    columns = Columns({f"gain_{name}": part for name, part in parts.items()})
    own = c * p / visits
    columns |= {"propensity_weight": c, "propensity_reward": c * r}
    columns = Columns(columns | {"propensity_weight_own": own, "propensity_reward_own": own * r})
    sums = {f"{name}_sum": float((part * units).sum()) for name, part in columns.items()}
    return columns, units, sums


def unit_gains(world, s, line, *, visits, rate=None):
    """The library's sums by unit of the gain, if others earn as a line says."""
    columns, units, sums = unit_columns(world, s, visits=visits, rate=rate)
    shares = gain_shares(columns, "", line)
    some = (shares.size > 0) & (units > 0)
    size, n = shares.size[some], units[some]
    dependent = float((n * size**2).sum()) * (1.0 if rate is None else rate * (1 - rate))
    earned, expected = (part[some] / size for part in (shares.earned, shares.expected))
    about = UnitTotals(size, earned, n, dependent / visits, dependent, expected, known=rate is not None)
    return replace(about, icc=None if rate is None else 1.0, offset=gain_offset(sums, line), rates=line.rates)


def unit_values(world, s, slope, *, visits):
    """The library's sums by unit of the value, if others count ``slope``."""
    columns, units, _ = unit_columns(world, s, visits=visits)
    shares = value_shares(columns, "", "propensity", slope)
    some = (shares.size > 0) & (units > 0)
    size, n = shares.size[some], units[some]
    dependent = float((n * size**2).sum())
    return UnitTotals(size, shares.earned[some] / size, n, dependent / visits, dependent)


def epoch_gains(worlds, draws, doubt, *, above):
    """The library's points of epochs, one for every world: nothing is known before the first one."""
    found = []
    for i, (world, s) in enumerate(zip(worlds, draws, strict=True)):
        bins = gain_bins(world, s, known=True)
        # Rewards of these worlds are rare: of 1 - reward the other line is the higher one.
        often = [line for line in lines(doubt, None) if line.slope > 1 and not above]
        [sums] = (bins if above else bins.flipped).under(doubt, often[0] if often and not i else None)
        found.append(gain_points(sums, known=i > 0))
    return EpochTotals.of(found)
