"""The alarms of importance weights, event by event in NumPy."""

import numpy as np
from scipy.stats import norm


def judged(w, decided, features, *, far):
    """Return the mean weight over the decided share, its error, whether it rings, and which features ring.

    ``w``: the weight of every event; ``decided``: the policy's whole share in its context; ``features``: a column for
    each; ``far``: how far from its mean an event is taken to lie that the log lacks.
    """
    excess, traffic, heavy = w - decided, decided.sum(), w.max() ** 2
    mean = 1 + excess.sum() / traffic
    error = np.sqrt((excess**2).sum() + (1 if mean > 1 else 9) * heavy) / traffic
    means = decided @ features / traffic
    centred = features - means
    spread = np.sqrt(decided @ centred**2 / traffic)
    difference = excess @ centred / len(w)
    own = np.sqrt(excess**2 @ centred**2 + heavy * far(means, spread) ** 2) / len(w)
    z = norm.isf(norm.sf(3) / features.shape[1])
    rings = np.abs(difference) > np.maximum(0.05 * spread * traffic / len(w), z * own)
    return mean, error, abs(mean - 1) > max(0.05, 3 * error), rings


def mixed(numbers):
    """The distance for so many numeric features, and indicators behind them."""

    def far(means, spread):
        return np.concatenate([2 * spread[:numbers], 1 - means[numbers:]])

    return far


def softmax_log(rng, events, *, actions=5, strength=1.0):
    """Contexts of three numbers and a category, a softmax logger that explores, and the true propensities of all."""
    x = rng.normal(size=(events, 3))
    city = rng.choice(6, p=np.arange(1, 7) / 21, size=events)
    scores = strength * x @ rng.normal(size=(3, actions))
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = 0.95 * p / p.sum(axis=1, keepdims=True) + 0.05 / actions
    shown = np.minimum((p.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1), actions - 1)
    features = np.column_stack([x, *(city == c for c in range(6))]).astype(float)
    return x, city, p, shown, features
