"""Worlds of several outcomes, policies and segments as cells with exact truths; many draws of rewards at once.

Bets are planned anew here (see betting): an end beyond some number has ruled it out, for every draw with a number of
its own. Ends of segments are the library's.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp
from tests.support.betting import RATES

from warmstart.estimators.intervals import Coefficients, GainSums, LoggingTotals, gain_ends, relative_ends


class Cells(NamedTuple):
    """The cells [x, a] of a window: events, mean rewards, and u of every policy [policy, x, a]."""

    n: np.ndarray
    means: np.ndarray
    u: np.ndarray

    @property
    def mean(self):
        return (self.n * self.means).sum() / self.n.sum()

    @property
    def changes(self):
        """The exact expected change of the outcome under every policy, given contexts and actions."""
        return (self.u * self.n * self.means).sum(axis=(1, 2)) / self.n.sum()

    @property
    def expected(self):
        """The mean reward of every context under logging."""
        return (self.n * self.means).sum(axis=1, keepdims=True) / self.n.sum(axis=1, keepdims=True)

    def draw(self, rng, draws):
        return rng.binomial(self.n.astype(int), self.means, size=(draws, *self.n.shape))

    def sized(self, factor):
        """So many times the events; policies take the same actions."""
        n = np.maximum(np.round(self.n * factor), 1.0)
        return Cells(n, self.means, np.where(self.u > -1, n.sum(axis=1, keepdims=True) / n, 0.0) - 1)

    def only(self, contexts):
        """The cells of some contexts."""
        return Cells(self.n[contexts], self.means[contexts], self.u[:, contexts])


def world(seed, *, rate=0.3, events=2_000, contexts=12, actions=3, policies=1, even=4.0, spread=0.3):
    """Contexts of traffic 1 / rank; every policy takes any one of the actions in each context."""
    rng = np.random.default_rng([seed, events, round(1000 * rate)])
    traffic = 1 / np.arange(1, contexts + 1)
    shares = rng.dirichlet(np.full(actions, even), size=contexts)
    in_context = np.maximum(rng.multinomial(events, traffic / traffic.sum()), 20)
    n = np.array([rng.multinomial(k, p) for k, p in zip(in_context, shares, strict=True)]) + 1.0
    level = np.log(rate / (1 - rate)) + 0.3 * rng.normal(size=(contexts, 1))
    means = expit(level + spread * rng.normal(size=n.shape))
    p = n / n.sum(axis=1, keepdims=True)
    h = np.eye(actions)[rng.integers(0, actions, size=(policies, contexts))]
    return Cells(n, means, h / p - 1)


def half_contested(cells):
    """The same cells, but in every second context policies and logging cannot differ."""
    return cells._replace(u=cells.u * (np.arange(cells.n.shape[0]) % 2)[:, None])


def settled(events=8_000):
    """A tenth of the events have two ads, one of which always costs 1, the other 0; of the others, 5 % cost 1.

    What the policy changes is known far better than logging's mean.
    """
    n = events * np.array([[0.05, 0.05], [0.9, 0.0]])
    return Cells(n, np.array([[0.0, 1.0], [0.05, 0.05]]), np.array([[[-1.0, 1.0], [0.0, 0.0]]]))


def ruled_out(cells, k, draws, numbers, delta, side, *, known=True):
    """Whether the upper (side -1) or the lower end (side 1) of a policy's change is beyond a number, draw by draw.

    ``known``: whether the mean reward of every context under logging was, before the window.
    """
    told = np.broadcast_to(np.abs(cells.u[k]).max(axis=1, keepdims=True) > 0, cells.n.shape) & (cells.n > 0)
    u, n, b, s = cells.u[k][told], cells.n[told], np.broadcast_to(cells.expected, cells.n.shape)[told], draws[:, told]
    s, b = (s, b) if side > 0 else (n - s, 1 - b)
    limit = np.log(2 / delta)
    if known:
        planned = np.array([0.5, 1, 2]) * np.sqrt(2 * limit / (u * u * n * b * (1 - b)).sum())
        baselines, weights = [np.round(b * 32) / 32] * 3, [0.15, 0.7, 0.15]
    else:
        rates = np.array(RATES)
        planned = np.sqrt(2 * limit / (rates * (1 - rates) * (u * u * n).sum()))
        baselines, weights = rates, np.full(len(rates), 1 / len(rates))
    # Per event that could tell, of all events.
    m = np.broadcast_to(side * np.asarray(numbers) * cells.n.sum() / n.sum(), len(s))[:, None]
    most, won = (np.maximum(u, 0) * n).sum() / n.sum(), []
    for wanted, b in zip(planned, baselines, strict=True):
        bet = min(wanted, 0.99 / (np.maximum(u * b, -u * (1 - b)).max() + most))
        log_won, log_lost = (np.log1p(bet * (part - m)) for part in (u * (1 - b), -u * b))
        won.append((log_won * s + log_lost * (n - s)).sum(axis=1))
    return logsumexp(np.array(won).T, b=weights, axis=1) >= limit


def lower_ends(cells, k, draws, delta):
    """The lower end of a policy's change in every draw, by bisection."""
    most = (np.maximum(cells.u[k], 0) * cells.n).sum() / cells.n.sum()
    low, high = np.full(len(draws), -most), np.full(len(draws), most)
    for _ in range(40):
        middle = (low + high) / 2
        out = ruled_out(cells, k, draws, middle, delta, 1)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return low


def share_ruled_out(cells, k, draws, share, delta, side, *, known=True, origin=0.0):
    """Whether a share of logging's mean is above the upper end (side -1), or below the lower one, of the change.

    ``origin``: how far a reward of 0 is from the user's own zero, in widths of the range.
    """
    u, n, s, limit = cells.u[k].ravel(), cells.n.ravel(), draws.reshape(len(draws), -1), np.log(2 / delta)
    differs = np.broadcast_to(np.abs(cells.u[k]).max(axis=1, keepdims=True) > 0, cells.n.shape).ravel()
    if known:
        rate, e = cells.mean, np.broadcast_to(cells.expected, cells.n.shape).ravel()
        variance = (n * (u * u * e * (1 - e) + share**2 * rate * (1 - rate))).sum()
        plans = [
            (bet * np.sqrt(2 * limit / variance), np.where(differs, np.round(e * 32) / 32, rate)) for bet in (0.5, 1, 2)
        ]
        weights = [0.15, 0.7, 0.15]
    else:
        squares = (n * (u * u + share**2)).sum()
        plans = [(np.sqrt(2 * limit / (squares * rate * (1 - rate))), np.full(len(u), rate)) for rate in RATES]
        weights = np.full(len(RATES), 1 / len(RATES))
    won = []
    for planned, b in plans:
        at_zero = -(u - share) * b - share * ((n @ b) / n.sum() + origin)
        terms = side * at_zero, side * (at_zero + u - share)
        bet = min(planned, 0.99 / -min(term.min() for term in terms))
        others, rewarded = (np.log1p(bet * term) for term in terms)
        won.append(s @ rewarded + (n - s) @ others)
    return logsumexp(np.array(won).T, b=weights, axis=1) >= limit


def guard_proven(cells, k, draws, limit, delta, *, relative=False, exact_mean=False, known=True):
    """Whether "at most ``limit`` more" is proven of a policy, at its share of delta, in every draw.

    ``exact_mean``: taking logging's mean for its expectation, as nobody may.
    """
    if not relative:
        return ruled_out(cells, k, draws, limit, delta, -1, known=known)
    if exact_mean:
        return ruled_out(cells, k, draws, limit * draws.sum(axis=(1, 2)) / cells.n.sum(), delta, -1)
    return share_ruled_out(cells, k, draws, limit, delta, -1, known=known)


def gain_sums(cells, s, *, known=True):
    """The library's sums of a policy's gain, with what training expects of rewards or without."""
    u, n, e = cells.u[0].ravel(), cells.n.ravel(), np.broadcast_to(cells.expected, cells.n.shape).ravel()
    by_u, variances = Coefficients(u, n, s.ravel().astype(float)), e * (1 - e) if known else np.ones(len(u))
    return GainSums(by_u, np.round(e * 32) / 32 if known else None, n.sum(), float((u * u * n * variances).sum()))


def segment_ends(cells, s, delta):
    """The library's ends of a policy's gain in some contexts, per event of these."""
    return gain_ends(gain_sums(cells, s), delta)


def share_ends(cells, s, delta, limits=(), origin=0.0, *, known=True):
    """The library's ends of a policy's gain as a share of logging's mean; it gets the contested contexts' cells."""
    logging = LoggingTotals(cells.n.sum(), s.sum(), origin, cells.mean if known else None)
    contested = np.abs(cells.u[0]).max(axis=1) > 0
    return relative_ends(gain_sums(cells.only(contested), s[contested], known=known), logging, delta, limits)
