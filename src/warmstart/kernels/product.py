"""A model that is linear in the product of two sparse vectors, f(x, a) = sum_ij x_i W[i, j] a_j, learned online.

The product is never formed: W is a table with a row for every context feature and a column for every action feature, so
that a pair touches as many rows as the context has features. Sparse rows of contexts (``x``) and actions (``a``) are
tuples (starts, buckets, values).

Several models may be learned at once: W[i, j] of all of them then lie side by side (lanes), in one line of the cache.
Sums are taken in the same order however many there are, and four rows of W at a time, so that none waits for another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warmstart.kernels.compiled import Array, compiled, compiled_in_order
from warmstart.kernels.lanes import add_scaled, load, store, zeros

Rows = tuple[Array, Array, Array]
# Contexts, actions, targets, importance weights.
Examples = tuple[Array, Array, Array, Array]
# An entry a lane.
Rates = tuple[float, ...]

SQUARED, LOGISTIC = 0, 1
_STEPS_OF_ODE = 16
SMALLEST_MOVE = 1e-12
ONE = (1.0,)


@compiled_in_order
def score(context: int, action: int, x: Rows, a: Rows, weights: Array, width: int, rates: Rates) -> Any:
    """Return the product of one context, the weights and one action: a lane for each rate."""
    lanes = len(rates)
    x_starts, x_buckets, x_values = x
    a_starts, a_buckets, a_values = a
    columns = a_buckets[a_starts[action] : a_starts[action + 1]]
    values = a_values[a_starts[action] : a_starts[action + 1]]
    begin, end = x_starts[context], x_starts[context + 1]
    fours = begin + (end - begin) // 4 * 4
    total = zeros(rates)
    for q in range(begin, fours, 4):
        row0, row1 = np.int64(x_buckets[q]) * width, np.int64(x_buckets[q + 1]) * width
        row2, row3 = np.int64(x_buckets[q + 2]) * width, np.int64(x_buckets[q + 3]) * width
        part0, part1, part2, part3 = zeros(rates), zeros(rates), zeros(rates), zeros(rates)
        for r in range(columns.shape[0]):
            column, value = np.int64(columns[r]), values[r]
            part0 = add_scaled(part0, value, load(weights, (row0 + column) * lanes, part0))
            part1 = add_scaled(part1, value, load(weights, (row1 + column) * lanes, part1))
            part2 = add_scaled(part2, value, load(weights, (row2 + column) * lanes, part2))
            part3 = add_scaled(part3, value, load(weights, (row3 + column) * lanes, part3))
        total = add_scaled(total, x_values[q], part0)
        total = add_scaled(total, x_values[q + 1], part1)
        total = add_scaled(total, x_values[q + 2], part2)
        total = add_scaled(total, x_values[q + 3], part3)
    for q in range(fours, end):
        row, part = np.int64(x_buckets[q]) * width, zeros(rates)
        for r in range(columns.shape[0]):
            part = add_scaled(part, values[r], load(weights, (row + np.int64(columns[r])) * lanes, part))
        total = add_scaled(total, x_values[q], part)
    return total


@compiled_in_order
def add_to(weights: Array, at: Any, value: Any, step: Any) -> None:
    """Add a multiple of lanes to weights."""
    store(weights, at, add_scaled(load(weights, at, step), value, step))


@compiled_in_order
def move(context: int, action: int, x: Rows, a: Rows, weights: Array, width: int, rates: Rates, by: Array) -> None:
    """Move the weights along the product of one context and one action, a lane for each rate, by so much each."""
    lanes = len(rates)
    x_starts, x_buckets, x_values = x
    a_starts, a_buckets, a_values = a
    columns = a_buckets[a_starts[action] : a_starts[action + 1]]
    values = a_values[a_starts[action] : a_starts[action + 1]]
    begin, end = x_starts[context], x_starts[context + 1]
    fours = begin + (end - begin) // 4 * 4
    none = zeros(rates)
    steps = load(by, 0, none)
    for q in range(begin, fours, 4):
        row0, row1 = np.int64(x_buckets[q]) * width, np.int64(x_buckets[q + 1]) * width
        row2, row3 = np.int64(x_buckets[q + 2]) * width, np.int64(x_buckets[q + 3]) * width
        step0, step1 = add_scaled(none, x_values[q], steps), add_scaled(none, x_values[q + 1], steps)
        step2, step3 = add_scaled(none, x_values[q + 2], steps), add_scaled(none, x_values[q + 3], steps)
        for r in range(columns.shape[0]):
            column, value = np.int64(columns[r]), values[r]
            add_to(weights, (row0 + column) * lanes, value, step0)
            add_to(weights, (row1 + column) * lanes, value, step1)
            add_to(weights, (row2 + column) * lanes, value, step2)
            add_to(weights, (row3 + column) * lanes, value, step3)
    for q in range(fours, end):
        row, step = np.int64(x_buckets[q]) * width, add_scaled(none, x_values[q], steps)
        for r in range(columns.shape[0]):
            add_to(weights, (row + np.int64(columns[r])) * lanes, values[r], step)


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


@compiled_in_order
def learned(loss: int, p: Any, y: Any, weight: Any, rate: float, square: Any) -> Any:
    """Return the weighted loss of a prediction, and the step that it leads to: 0 where that is tiny.

    That also keeps denormal numbers out of the weights: they are a hundred times slower to work with.
    """
    if loss == SQUARED:
        p = min(max(p, np.float32(0)), np.float32(1))
        lost = weight * (y - p) * (y - p)
    else:
        lost = weight * (np.log1p(np.exp(-abs(p))) + max(p, np.float32(0)) - y * p)
    step = np.float32(step_size(loss, y, p, rate * weight, square))
    return lost, step if abs(step) >= SMALLEST_MOVE else np.float32(0)


@compiled_in_order
def train(
    order: Array,
    examples: Examples,
    x: Rows,
    x_squares: Array,
    a: Rows,
    a_squares: Array,
    weights: Array,
    width: int,
    rates: Rates,
    loss: int,
) -> Array:
    """Run one SGD pass over examples, predicting each before learning from it; return the progressive weighted losses.

    Every rate has weights of its own: W[i, j] of rate k is ``weights[(i * width + j) * len(rates) + k]``.
    """
    contexts, actions, targets, importance = examples
    losses = np.zeros(len(rates))
    numbers = np.zeros(len(rates), dtype=np.float32)
    for i in order:
        context, action = contexts[i], actions[i]
        store(numbers, 0, score(context, action, x, a, weights, width, rates))
        square = x_squares[context] * a_squares[action]
        for k in range(len(rates)):
            lost, numbers[k] = learned(loss, numbers[k], targets[i], importance[i], rates[k], square)
            losses[k] += lost
        if numbers.any():
            move(context, action, x, a, weights, width, rates, numbers)
    return losses


@compiled_in_order
def predict(contexts: Array, actions: Array, x: Rows, a: Rows, weights: Array, width: int, scores: Array) -> None:
    """Score pairs of contexts and actions."""
    for i in range(contexts.shape[0]):
        store(scores, i, score(contexts[i], actions[i], x, a, weights, width, ONE))
