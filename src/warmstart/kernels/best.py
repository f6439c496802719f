"""The best of all actions for every context, among hundreds of thousands, for a model linear in a product."""

from __future__ import annotations

import numpy as np

from warmstart.kernels.compiled import Array, compiled_in_order
from warmstart.kernels.lanes import add_scaled, any_above, load, store, zeros
from warmstart.kernels.product import SQUARED, Rows

# Contexts are scored side by side: so many lanes in a register, and four registers.
_REGISTER = (0,) * 16
_LANES = len(_REGISTER)
CONTEXTS = 4 * _LANES
# Singles differ by less than this share from what they round.
_ROUNDED = 1e-6

# Rows of features and the columns in use (of pack_columns), and factors.
Actions = tuple[Rows, Array, Array]
# Weights, the width of their table, the lowest prediction, the loss.
Model = tuple[Array, int, float, int]


@compiled_in_order
def _form_columns(contexts: Array, x: Rows, used: Array, weights: Array, width: int, columns: Array) -> None:
    """Form the contexts' part of the product: for each column in use, its sum for every context, side by side."""
    x_starts, x_buckets, x_values = x
    one = np.empty(width, dtype=np.float32)
    columns[:] = 0
    for k in range(contexts.shape[0]):
        one[:] = 0
        for q in range(x_starts[contexts[k]], x_starts[contexts[k] + 1]):
            begin = np.int64(x_buckets[q]) * width
            row = weights[begin : begin + width]
            value = x_values[q]
            for j in range(width):
                one[j] += value * row[j]
        for j in range(used.shape[0]):
            columns[j * CONTEXTS + k] = one[used[j]]


@compiled_in_order
def best_of_all(contexts: Array, x: Rows, actions: Actions, model: Model, best: Array, scores: Array) -> None:
    """Find the best of all actions for every context, the first of equals.

    The contexts' part of the product is formed once, and for many contexts side by side, so that an action's feature
    is read once for all of them. Expected rewards are worked out, in doubles, only of actions that may beat the best so
    far in one of them.
    """
    (a_starts, a_places, a_values), used, factors = actions
    weights, width, lowest, loss = model
    columns = np.empty(used.shape[0] * CONTEXTS, dtype=np.float32)
    bounds, part = np.empty(CONTEXTS, dtype=np.float32), np.empty(CONTEXTS, dtype=np.float32)
    top, place = np.empty(CONTEXTS, dtype=np.float64), np.empty(CONTEXTS, dtype=np.int64)
    for first in range(0, contexts.shape[0], CONTEXTS):
        size = min(CONTEXTS, contexts.shape[0] - first)
        _form_columns(contexts[first : first + size], x, used, weights, width, columns)
        top[:] = -np.inf
        place[:] = 0
        bounds[:size] = -np.inf
        bounds[size:] = np.inf
        least = -np.inf
        for action in range(factors.shape[0]):
            p0, p1, p2, p3 = zeros(_REGISTER), zeros(_REGISTER), zeros(_REGISTER), zeros(_REGISTER)
            for r in range(a_starts[action], a_starts[action + 1]):
                value, begin = a_values[r], np.int64(a_places[r]) * CONTEXTS
                p0 = add_scaled(p0, value, load(columns, begin, p0))
                p1 = add_scaled(p1, value, load(columns, begin + _LANES, p1))
                p2 = add_scaled(p2, value, load(columns, begin + 2 * _LANES, p2))
                p3 = add_scaled(p3, value, load(columns, begin + 3 * _LANES, p3))
            factor = factors[action]
            upper = np.float32(factor * (1 + _ROUNDED))
            if not (
                loss != SQUARED
                or factor < 0
                or lowest * upper > least
                or any_above(p0, upper, load(bounds, 0, p0))
                or any_above(p1, upper, load(bounds, _LANES, p1))
                or any_above(p2, upper, load(bounds, 2 * _LANES, p2))
                or any_above(p3, upper, load(bounds, 3 * _LANES, p3))
            ):
                continue
            store(part, 0, p0)
            store(part, _LANES, p1)
            store(part, 2 * _LANES, p2)
            store(part, 3 * _LANES, p3)
            for k in range(size):
                f = part[k] if loss == SQUARED else np.float32(1 / (1 + np.exp(-part[k])))
                expected = min(max(f, lowest) * factor, 1.0)
                if expected > top[k]:
                    top[k] = expected
                    place[k] = action
                    # Nothing is above 1.
                    bounds[k] = expected - 4 * _ROUNDED * abs(expected) if expected < 1 else np.inf
                    least = bounds.min()
        best[first : first + size] = place[:size]
        scores[first : first + size] = top[:size]
