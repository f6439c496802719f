"""The paper's bounds, for propensities that are independent of the events they weigh.

Arrays are indexed [context, action]; ``traffic`` is the distribution of contexts. The indicator of support is on the
true propensity, so these are statements about worlds, for tests and for reasoning, not computable from a log alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def squared_regret(true: ArrayLike, estimated: ArrayLike) -> NDArray[np.float64]:
    """Return reg(x) = max over actions of (pi - pi_hat)^2, one number a context (paper, Eq. 5)."""
    error = np.asarray(true, dtype=float) - np.asarray(estimated, dtype=float)
    largest: NDArray[np.float64] = np.max(error**2, axis=1)
    return largest


def bias_bounds(
    traffic: ArrayLike, true: ArrayLike, estimated: ArrayLike, policy: ArrayLike, reward_means: ArrayLike, *, tau: float
) -> tuple[float, float]:
    """Bound the expected estimate of a deterministic policy from both sides (paper, Lemma 3.1).

        E[ I(pi(h(x)|x) >= tau) * (V(x) - sqrt(reg(x)) / tau) ]  <=  E[V_hat]
        E[V_hat]  <=  V + E[ I(pi(h(x)|x) >= tau) * sqrt(reg(x)) / tau ]

    Args:
        traffic: the share of each context.
        true: the logging policy's propensities, a row a context and a column an action.
        estimated: the estimated propensities in the same form.
        policy: zeros, and a one for the action chosen in each context, in the same form.
        reward_means: the mean reward of each action in each context.
        tau: the clipping constant.

    >>> low, high = bias_bounds([1.0], [[0.5, 0.5]], [[0.4, 0.6]], [[1, 0]], [[0.2, 0.1]], tau=0.2)
    >>> low < 0.2 < high
    True
    """
    _check_tau(tau)
    x, pi, h = np.asarray(traffic, float), np.asarray(true, float), np.asarray(policy, float)
    if not (np.isin(h, (0.0, 1.0)).all() and (h.sum(axis=1) == 1).all()):
        raise UsageError("Lemma 3.1 is for deterministic policies.", "Give a table of zeros and ones, one 1 a context.")
    value = np.sum(h * np.asarray(reward_means, float), axis=1)
    error = np.sqrt(squared_regret(pi, estimated)) / tau
    supported = np.sum(h * pi, axis=1) >= tau
    return float(x @ (supported * (value - error))), float(x @ (value + supported * error))


def corollary_bound(traffic: ArrayLike, true: ArrayLike, estimated: ArrayLike, *, tau: float) -> float:
    """Bound |E[V_hat] - V| of a policy that is supported everywhere: sqrt(E[reg(x)]) / tau (paper, Cor. 3.1).

    Args:
        traffic: the share of each context.
        true: the logging policy's propensities, a row a context and a column an action.
        estimated: the estimated propensities in the same form.
        tau: the clipping constant.
    """
    _check_tau(tau)
    return math.sqrt(float(np.asarray(traffic, float) @ squared_regret(true, estimated))) / tau


def regret_bound(*, mean_squared_regret: float, policies: int, events: int, tau: float, delta: float = 0.05) -> float:
    """Bound how far the policy of largest estimate falls short of the best supported one (paper, Thm. 3.2).

        (2 / tau) * ( sqrt(E[reg(x)]) + sqrt( ln(2 |H| / delta) / (2 T) ) ),   with probability 1 - delta

    Args:
        mean_squared_regret: E[reg(x)], the mean of ``squared_regret`` over contexts.
        policies: how many are compared.
        events: of the evaluated window.
        tau: the clipping constant.
        delta: the probability with which the bound may fail.

    >>> round(regret_bound(mean_squared_regret=0, policies=4, events=10_000, tau=0.5), 4)
    0.0637
    """
    _check_tau(tau)
    if policies < 1 or events < 1 or not 0 < delta < 1 or mean_squared_regret < 0:
        raise UsageError("regret_bound needs policies >= 1, events >= 1, 0 < delta < 1 and a regret of 0 or more.")
    sampling = math.sqrt(math.log(2 * policies / delta) / (2 * events))
    return 2 / tau * (math.sqrt(mean_squared_regret) + sampling)


def _check_tau(tau: float) -> None:
    if not 0 < tau <= 1:
        raise UsageError(f"tau must lie in (0, 1], and is {tau}.")
