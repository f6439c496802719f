"""Whether bets rule out the truth, for many draws of rewards at once; planned anew with scipy, no shared arithmetic.

An end beyond the truth has ruled it out. The bets on a value depend on contexts and actions only, so that what all
draws win is one matrix product; ``draws`` are reward sums by cell, draw by draw.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from warmstart.estimators.intervals import Coefficients, GainSums, TermSums, relative_entropy

RATES = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999)


class Window(NamedTuple):
    """The cells [x, a] of a window: events, mean rewards, weights, u, and rewards expected by context."""

    n: np.ndarray
    means: np.ndarray
    c: np.ndarray
    u: np.ndarray
    expected: np.ndarray

    @property
    def value(self):
        return (self.c * self.n * self.means).sum() / self.n.sum()

    @property
    def gain(self):
        return (self.u * self.n * self.means).sum() / self.n.sum()

    def draw(self, rng, draws, *, graded=False):
        """Reward sums of every cell; graded rewards are halves as often as they are 0 or 1."""
        n = self.n.astype(int)
        if not graded:
            return rng.binomial(n, self.means, size=(draws, *n.shape))
        some = np.minimum(self.means, 1 - self.means)
        halves = rng.binomial(n, some, size=(draws, *n.shape))
        return halves / 2 + rng.binomial(n - halves, (self.means - some / 2) / (1 - some))


def window(seed, *, rate, events=3_000, contexts=20, actions=4, tau=0.05, even=1.0):
    """Contexts of traffic 1 / rank, each with its own logging policy; the policy takes the best supported action.

    ``expected`` are the means of as many events before the window; ``even``: how even logging's choices are.
    """
    rng = np.random.default_rng([seed, round(1000 * rate)])
    traffic = 1 / np.arange(1, contexts + 1)
    shares = rng.dirichlet(np.full(actions, even), size=contexts)
    n = np.array(
        [rng.multinomial(k, p) for k, p in zip(rng.multinomial(events, traffic / traffic.sum()), shares, strict=True)]
    )
    n = n[n.sum(axis=1) > 0].astype(float)
    level = np.log(rate / (1 - rate)) + 0.3 * rng.normal(size=(len(n), 1))
    means = expit(level + 0.2 * rng.normal(size=n.shape))
    in_context = n.sum(axis=1, keepdims=True)
    p = n / in_context
    h = np.eye(actions)[np.where(p >= tau, means, -1).argmax(axis=1)]
    ratio = np.divide(h, p, out=np.zeros_like(p), where=p > 0)
    before = rng.binomial(n.astype(int), means)
    rate = (before.sum() + rate) / (n.sum() + 1)
    expected = (before.sum(axis=1, keepdims=True) + 20 * rate) / (in_context + 20)
    return Window(n, means, h / np.maximum(p, tau), ratio - 1, np.broadcast_to(expected, n.shape))


def term_sums(window, s, tau=0.05):
    """The sums of a window's value for one draw of rewards, with every cell's own weight."""
    n, c, chosen = window.n, window.c, (window.c > 0) & (window.n > 0)
    sums = ((c * s).sum(), (c * c * s).sum(), (c * n).sum(), (c * c * n).sum(), c[chosen].max(), 1 / tau)
    return TermSums(n.sum(), *sums, Coefficients(c[chosen], n[chosen], s[chosen].astype(float)))


def gain_sums(window, s, *, known=True):
    """The sums of a window's gain for one draw of rewards; ``known``: with expected rewards from before the window."""
    u, n = window.u.ravel(), window.n.ravel()
    by_u, total = Coefficients(u, n, s.ravel().astype(float)), n.sum()
    if not known:
        return GainSums(by_u, None, total, (u * u * n).sum())
    e = window.expected.ravel()
    return GainSums(by_u, np.round(e * 32) / 32, total, (u * u * n * e * (1 - e)).sum())


def value_misses(window, draws, delta, truth=None):
    """Whether the upper end is below the truth and the lower end above it, for every draw."""
    chosen = (window.c > 0) & (window.n > 0)
    c, n, s = window.c[chosen], window.n[chosen], draws[:, chosen]
    p = (window.value if truth is None else truth) * window.n.sum() / (c * n).sum()
    return np.stack([_share_misses(c, n, n - s, 1 - p, delta), _share_misses(c, n, s, p, delta)], axis=1)


def _share_misses(c, n, s, p, delta):
    limit, step = np.log(2 / delta), np.log(1.2)
    typical = (c * c * n).sum() / (c * n).sum()
    effective = (c * n).sum() / typical
    planned_at = expit(np.ceil(np.log(p / (1 - p)) / step) * step)

    def left(x):
        return effective * relative_entropy(x, planned_at) - limit

    x = brentq(left, planned_at, 1, xtol=1e-15) if left(1.0) > 0 else 1.0
    bets = np.array([0.25, 1, 4]) * (x - planned_at) / (planned_at * (1 - planned_at) * typical)
    bets = np.minimum(bets, 0.99 / (c.max() * planned_at))
    won = s @ np.log1p(np.outer(c * (1 - p), bets)) + (n - s) @ np.log1p(np.outer(-c * p, bets))
    return logsumexp(won, b=[0.1, 0.8, 0.1], axis=1) >= limit


def gain_misses(window, draws, delta, *, known=True, truth=None):
    """Whether the upper end is below the truth and the lower end above it, for every draw."""
    u, n, e = window.u.ravel(), window.n.ravel(), window.expected.ravel()
    s, truth = draws.reshape(len(draws), -1), window.gain if truth is None else truth
    upper = _gain_misses(u, n, n - s, 1 - e, -truth, delta, known)
    return np.stack([upper, _gain_misses(u, n, s, e, truth, delta, known)], axis=1)


def _gain_misses(u, n, s, e, truth, delta, known):
    limit, most = np.log(2 / delta), (np.maximum(u, 0) * n).sum() / n.sum()
    if known:
        b = np.tile(np.round(e * 32) / 32, (3, 1))
        bets, weights = np.array([0.5, 1, 2]) * np.sqrt(2 * limit / (u * u * n * e * (1 - e)).sum()), [0.15, 0.7, 0.15]
    else:
        rates = np.array(RATES)
        b = np.tile(rates[:, None], (1, len(u)))
        bets, weights = np.sqrt(2 * limit / (rates * (1 - rates) * (u * u * n).sum())), np.full(11, 1 / 11)
    won = []
    for bet, one in zip(bets, b, strict=True):
        safe = min(bet, 0.99 / (np.maximum(u * one, -u * (1 - one))[n > 0].max() + most))
        won.append(s @ np.log1p(safe * (u * (1 - one) - truth)) + (n - s) @ np.log1p(safe * (-u * one - truth)))
    return logsumexp(np.array(won).T, b=weights, axis=1) >= limit
