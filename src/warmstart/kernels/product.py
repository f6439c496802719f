"""A model that is linear in the product of two sparse vectors, f(x, a) = sum_ij x_i W[i, j] a_j, learned online.

The product is never formed: W is a table with a row for every context feature and a column for every action feature, so
that a pair touches as many rows as the context has features. Sparse vectors come as (starts, buckets, values).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.kernels.compiled import compiled
from warmstart.kernels.prefetch import prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

SQUARED, LOGISTIC = 0, 1
_STEPS_OF_ODE = 16
SMALLEST_MOVE = 1e-12
TOGETHER = 8


@compiled
def score(
    context: int,
    action: int,
    x_starts: NDArray[Any],
    x_buckets: NDArray[Any],
    x_values: NDArray[Any],
    a_starts: NDArray[Any],
    a_buckets: NDArray[Any],
    a_values: NDArray[Any],
    weights: NDArray[Any],
    width: int,
) -> Any:
    """Return the product of one context, the weights and one action."""
    columns = a_buckets[a_starts[action] : a_starts[action + 1]]
    values = a_values[a_starts[action] : a_starts[action + 1]]
    total = np.float32(0)
    for q in range(x_starts[context], x_starts[context + 1]):
        begin = np.int64(x_buckets[q]) * width
        row = weights[begin : begin + width]
        part = np.float32(0)
        for r in range(columns.shape[0]):
            part += values[r] * row[columns[r]]
        total += x_values[q] * part
    return total


@compiled
def ask_for(
    context: int,
    action: int,
    x_starts: NDArray[Any],
    x_buckets: NDArray[Any],
    a_starts: NDArray[Any],
    a_buckets: NDArray[Any],
    weights: NDArray[Any],
    width: int,
) -> None:
    """Ask for the weights of a pair before they are needed."""
    columns = a_buckets[a_starts[action] : a_starts[action + 1]]
    for q in range(x_starts[context], x_starts[context + 1]):
        begin = np.int64(x_buckets[q]) * width
        for r in range(columns.shape[0]):
            prefetch(weights, begin + np.int64(columns[r]))


@compiled
def step_size(loss: int, y: Any, p: Any, rate_times_weight: Any, square: Any) -> Any:
    """Return how far to move along the product for an event of this weight, as if it came in many light parts.

    The importance-aware update of Karampatziakis and Langford (2011): the solution of dp/dt = square * (y - f(p)) at
    t = rate * weight, so that one update of weight 2w equals two of weight w, and no weight overshoots.
    """
    if square <= 0:
        return 0.0
    if loss == SQUARED:
        return (y - p) * -np.expm1(-rate_times_weight * square) / square
    # Runge and Kutta's rule, with steps that are short beside the time in which the equation relaxes.
    steps = _STEPS_OF_ODE + int(rate_times_weight * square)
    moved, dt = 0.0, rate_times_weight / steps
    for _ in range(steps):
        k1 = y - 1 / (1 + np.exp(-(p + square * moved)))
        k2 = y - 1 / (1 + np.exp(-(p + square * (moved + dt / 2 * k1))))
        k3 = y - 1 / (1 + np.exp(-(p + square * (moved + dt / 2 * k2))))
        k4 = y - 1 / (1 + np.exp(-(p + square * (moved + dt * k3))))
        moved += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return moved


@compiled
def train(
    order: NDArray[Any],
    contexts: NDArray[Any],
    actions: NDArray[Any],
    targets: NDArray[Any],
    importance: NDArray[Any],
    x_starts: NDArray[Any],
    x_buckets: NDArray[Any],
    x_values: NDArray[Any],
    x_squares: NDArray[Any],
    a_starts: NDArray[Any],
    a_buckets: NDArray[Any],
    a_values: NDArray[Any],
    a_squares: NDArray[Any],
    weights: NDArray[Any],
    width: int,
    rate: float,
    loss: int,
) -> Any:
    """Pass once over examples, predicting each before learning from it; return the weighted loss of the predictions.

    While weights move, those of the next example are asked for.
    """
    total = 0.0
    for t in range(order.shape[0]):
        i, following = order[t], order[min(t + 1, order.shape[0] - 1)]
        x, a = contexts[i], actions[i]
        columns = a_buckets[a_starts[a] : a_starts[a + 1]]
        values = a_values[a_starts[a] : a_starts[a + 1]]
        p = score(x, a, x_starts, x_buckets, x_values, a_starts, a_buckets, a_values, weights, width)
        y, w = targets[i], importance[i]
        if loss == SQUARED:
            p = min(max(p, np.float32(0)), np.float32(1))
            total += w * (y - p) * (y - p)
        else:
            total += w * (np.log1p(np.exp(-abs(p))) + max(p, np.float32(0)) - y * p)
        move = np.float32(step_size(loss, y, p, rate * w, x_squares[x] * a_squares[a]))
        ask_for(contexts[following], actions[following], x_starts, x_buckets, a_starts, a_buckets, weights, width)
        # Also keeps denormal numbers out of the weights: they are a hundred times slower to work with.
        if abs(move) < SMALLEST_MOVE:
            continue
        for q in range(x_starts[x], x_starts[x + 1]):
            begin = np.int64(x_buckets[q]) * width
            row = weights[begin : begin + width]
            scaled = move * x_values[q]
            for r in range(columns.shape[0]):
                row[columns[r]] += scaled * values[r]
    return total


@compiled
def predict(
    contexts: NDArray[Any],
    actions: NDArray[Any],
    x_starts: NDArray[Any],
    x_buckets: NDArray[Any],
    x_values: NDArray[Any],
    a_starts: NDArray[Any],
    a_buckets: NDArray[Any],
    a_values: NDArray[Any],
    weights: NDArray[Any],
    width: int,
    scores: NDArray[Any],
) -> None:
    """Score pairs of contexts and actions."""
    for i in range(contexts.shape[0]):
        following = min(i + 1, contexts.shape[0] - 1)
        ask_for(contexts[following], actions[following], x_starts, x_buckets, a_starts, a_buckets, weights, width)
        scores[i] = score(
            contexts[i], actions[i], x_starts, x_buckets, x_values, a_starts, a_buckets, a_values, weights, width
        )


@compiled
def best_of_all(
    contexts: NDArray[Any],
    x_starts: NDArray[Any],
    x_buckets: NDArray[Any],
    x_values: NDArray[Any],
    a_starts: NDArray[Any],
    a_buckets: NDArray[Any],
    a_values: NDArray[Any],
    factors: NDArray[Any],
    lowest: float,
    loss: int,
    weights: NDArray[Any],
    width: int,
    best: NDArray[Any],
    scores: NDArray[Any],
) -> None:
    """Find the best of all actions for every context, the first of equals.

    The contexts' part of the product is formed once, and for several contexts side by side, so that one look at an
    action's feature serves them all.
    """
    one = np.empty(width, dtype=np.float32)
    columns = np.empty((width, TOGETHER), dtype=np.float32)
    part = np.empty(TOGETHER, dtype=np.float32)
    top, place = np.empty(TOGETHER, dtype=np.float64), np.empty(TOGETHER, dtype=np.int64)
    for first in range(0, contexts.shape[0], TOGETHER):
        some = min(TOGETHER, contexts.shape[0] - first)
        columns[:, :] = 0
        for k in range(some):
            x = contexts[first + k]
            one[:] = 0
            for q in range(x_starts[x], x_starts[x + 1]):
                begin = np.int64(x_buckets[q]) * width
                row = weights[begin : begin + width]
                value = x_values[q]
                for j in range(width):
                    one[j] += value * row[j]
            columns[:, k] = one
        top[:] = -np.inf
        place[:] = 0
        for a in range(a_starts.shape[0] - 1):
            part[:] = 0
            for r in range(a_starts[a], a_starts[a + 1]):
                value, row = a_values[r], columns[a_buckets[r]]
                for k in range(TOGETHER):
                    part[k] += value * row[k]
            factor = factors[a]
            for k in range(TOGETHER):
                f = part[k] if loss == SQUARED else np.float32(1 / (1 + np.exp(-part[k])))
                found = min(max(f, lowest) * factor, 1.0)
                if found > top[k]:
                    top[k] = found
                    place[k] = a
        best[first : first + some] = place[:some]
        scores[first : first + some] = top[:some]
