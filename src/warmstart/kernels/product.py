"""A model that is linear in the product of two sparse vectors, f(x, a) = sum_ij x_i W[i, j] a_j, learned online.

The product is never formed: W is a table with a row for every context feature and a column for every action feature, so
that a pair touches as many rows as the context has features. Sparse rows of contexts (``x``) and actions (``a``) are
tuples (starts, buckets, values).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warmstart.kernels.compiled import Array, compiled
from warmstart.kernels.prefetch import prefetch

Rows = tuple[Array, Array, Array]

SQUARED, LOGISTIC = 0, 1
_STEPS_OF_ODE = 16
SMALLEST_MOVE = 1e-12
# Contexts that are scored side by side.
CONTEXTS = 8


@compiled
def score(context: int, action: int, x: Rows, a: Rows, weights: Array, width: int) -> Any:
    """Return the product of one context, the weights and one action."""
    x_starts, x_buckets, x_values = x
    a_starts, a_buckets, a_values = a
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
def prefetch_pair(context: int, action: int, x: Rows, a: Rows, weights: Array, width: int) -> None:
    """Prefetch the weights of a pair of context and action."""
    x_starts, x_buckets, _ = x
    a_starts, a_buckets, _ = a
    columns = a_buckets[a_starts[action] : a_starts[action + 1]]
    for q in range(x_starts[context], x_starts[context + 1]):
        begin = np.int64(x_buckets[q]) * width
        for r in range(columns.shape[0]):
            prefetch(weights, begin + np.int64(columns[r]))


@compiled
def step_size(loss: int, y: Any, p: Any, rate_times_weight: Any, square: Any) -> Any:
    """Return the step along the product for an event of this weight, as if it came in many light parts.

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
    order: Array,
    examples: tuple[Array, Array, Array, Array],
    x: Rows,
    x_squares: Array,
    a: Rows,
    a_squares: Array,
    weights: Array,
    width: int,
    rate: float,
    loss: int,
) -> Any:
    """Run one SGD pass over examples, predicting each before learning from it; return the progressive weighted loss.

    ``examples``: contexts, actions, targets, importance weights. The weights of the next example are prefetched while
    those of this one are updated.
    """
    contexts, actions, targets, importance = examples
    x_starts, x_buckets, x_values = x
    a_starts, a_buckets, a_values = a
    total = 0.0
    for t in range(order.shape[0]):
        i, following = order[t], order[min(t + 1, order.shape[0] - 1)]
        context, action = contexts[i], actions[i]
        columns = a_buckets[a_starts[action] : a_starts[action + 1]]
        values = a_values[a_starts[action] : a_starts[action + 1]]
        p = score(context, action, x, a, weights, width)
        y, w = targets[i], importance[i]
        if loss == SQUARED:
            p = min(max(p, np.float32(0)), np.float32(1))
            total += w * (y - p) * (y - p)
        else:
            total += w * (np.log1p(np.exp(-abs(p))) + max(p, np.float32(0)) - y * p)
        move = np.float32(step_size(loss, y, p, rate * w, x_squares[context] * a_squares[action]))
        prefetch_pair(contexts[following], actions[following], x, a, weights, width)
        # Also keeps denormal numbers out of the weights: they are a hundred times slower to work with.
        if abs(move) < SMALLEST_MOVE:
            continue
        for q in range(x_starts[context], x_starts[context + 1]):
            begin = np.int64(x_buckets[q]) * width
            row = weights[begin : begin + width]
            scaled = move * x_values[q]
            for r in range(columns.shape[0]):
                row[columns[r]] += scaled * values[r]
    return total


@compiled
def predict(contexts: Array, actions: Array, x: Rows, a: Rows, weights: Array, width: int, scores: Array) -> None:
    """Score pairs of contexts and actions."""
    for i in range(contexts.shape[0]):
        following = min(i + 1, contexts.shape[0] - 1)
        prefetch_pair(contexts[following], actions[following], x, a, weights, width)
        scores[i] = score(contexts[i], actions[i], x, a, weights, width)


@compiled
def best_of_all(
    contexts: Array,
    x: Rows,
    a: Rows,
    factors: Array,
    lowest: float,
    loss: int,
    weights: Array,
    width: int,
    best: Array,
    scores: Array,
) -> None:
    """Find the best of all actions for every context, the first of equals.

    The contexts' part of the product is formed once, and for several contexts side by side, so that an action's feature
    is read once for all of them.
    """
    x_starts, x_buckets, x_values = x
    a_starts, a_buckets, a_values = a
    one = np.empty(width, dtype=np.float32)
    columns = np.empty((width, CONTEXTS), dtype=np.float32)
    part = np.empty(CONTEXTS, dtype=np.float32)
    top, place = np.empty(CONTEXTS, dtype=np.float64), np.empty(CONTEXTS, dtype=np.int64)
    for first in range(0, contexts.shape[0], CONTEXTS):
        size = min(CONTEXTS, contexts.shape[0] - first)
        columns[:, :] = 0
        for k in range(size):
            context = contexts[first + k]
            one[:] = 0
            for q in range(x_starts[context], x_starts[context + 1]):
                begin = np.int64(x_buckets[q]) * width
                row = weights[begin : begin + width]
                value = x_values[q]
                for j in range(width):
                    one[j] += value * row[j]
            columns[:, k] = one
        top[:] = -np.inf
        place[:] = 0
        for action in range(a_starts.shape[0] - 1):
            part[:] = 0
            for r in range(a_starts[action], a_starts[action + 1]):
                value, row = a_values[r], columns[a_buckets[r]]
                for k in range(CONTEXTS):
                    part[k] += value * row[k]
            factor = factors[action]
            for k in range(CONTEXTS):
                f = part[k] if loss == SQUARED else np.float32(1 / (1 + np.exp(-part[k])))
                expected = min(max(f, lowest) * factor, 1.0)
                if expected > top[k]:
                    top[k] = expected
                    place[k] = action
        best[first : first + size] = place[:size]
        scores[first : first + size] = top[:size]
