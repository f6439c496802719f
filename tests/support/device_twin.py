"""What the GPU's kernels compute, in NumPy: an example is predicted while those before it are still in flight."""

from collections import deque

import numpy as np

SQUARED, SMALLEST_MOVE, STEPS_OF_ODE = 0, 1e-12, 16


def crossed(context, action, x, a, width):
    """Return the places of the weights of a context and an action, and the products of their values."""
    (x_starts, x_buckets, x_values), (a_starts, a_buckets, a_values) = x, a
    rows, columns = slice(*x_starts[context : context + 2]), slice(*a_starts[action : action + 2])
    places = x_buckets[rows].astype(np.int64)[:, None] * width + a_buckets[columns]
    return places.ravel(), np.multiply.outer(x_values[rows], a_values[columns]).ravel()


def sigmoid(p):
    return 1 / (1 + np.exp(-p))


def learned(loss, p, y, weight, rates, square):
    """Return the weighted losses of predictions and the steps they lead to, one a rate: those of kernels/product.py."""
    until = rates * weight
    if loss == SQUARED:
        p = np.clip(p, 0, 1)
        lost, step = weight * (y - p) ** 2, (y - p) * -np.expm1(-until * square) / max(square, 1e-300)
    else:
        lost = weight * (np.logaddexp(0, p) - y * p)
        step, count = np.zeros(len(p)), STEPS_OF_ODE + (until * square).astype(np.int64)
        for n in range(count.max()):
            dt = np.where(n < count, until / count, 0.0)
            k1 = y - sigmoid(p + square * step)
            k2 = y - sigmoid(p + square * (step + dt / 2 * k1))
            k3 = y - sigmoid(p + square * (step + dt / 2 * k2))
            k4 = y - sigmoid(p + square * (step + dt * k3))
            step = step + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return lost, np.where((square > 0) & (np.abs(step) >= SMALLEST_MOVE), step, 0.0).astype(np.float32)


def train_stale(examples, x, x_squares, a, a_squares, weights, width, rates, loss, in_flight=1):
    """Run a pass in which an example's step is added when so many later ones, itself counted, have been predicted."""
    tables, losses, rates = weights.reshape(-1, len(rates)), np.zeros(len(rates)), np.array(rates)
    steps = deque()
    for context, action, y, weight in zip(*(each.tolist() for each in examples), strict=True):
        if len(steps) == in_flight:
            np.add.at(tables, *steps.popleft())
        places, values = crossed(context, action, x, a, width)
        square = float(x_squares[context] * a_squares[action])
        lost, step = learned(loss, values @ tables[places], y, weight, rates, square)
        losses += lost
        steps.append((places, values[:, None] * step))
    for places, move in steps:
        np.add.at(tables, places, move)
    return losses


def predict(contexts, actions, x, a, weights, width):
    """Return the products of pairs of contexts and actions."""
    pairs = (crossed(*pair, x, a, width) for pair in zip(contexts.tolist(), actions.tolist(), strict=True))
    return np.array([values @ weights[places] for places, values in pairs])


def best_of_all(x, a, factors, weights, width, lowest, loss):
    """Return the best of all actions for every context, the first of equals, and its score: sums as they are written.

    A product and its sum are rounded once: singles in doubles are exact products, and the sum is rounded twice, which
    is the same but for sums that lie halfway between two singles in the first rounding.
    """
    table = weights.reshape(-1, width)
    columns = np.zeros((len(x[0]) - 1, width), dtype=np.float32)
    _add_in_order(columns, x, lambda bucket: table[bucket])
    products = np.zeros((len(a[0]) - 1, len(columns)), dtype=np.float32)
    _add_in_order(products, a, lambda bucket: columns[:, bucket])
    predicted = products if loss == SQUARED else sigmoid(products.astype(np.float64)).astype(np.float32)
    expected = np.minimum(np.maximum(predicted.astype(np.float64), lowest) * factors[:, None], 1.0)
    best = expected.argmax(axis=0)
    return best, expected[best, np.arange(len(best))]


def _add_in_order(sums, rows, terms):
    starts, buckets, values = rows
    for row, total in enumerate(sums):
        for place in range(starts[row], starts[row + 1]):
            total[:] = total.astype(np.float64) + np.float64(values[place]) * terms(buckets[place])
