"""The alarms of importance weights, event by event in NumPy."""

import numpy as np
from scipy.stats import norm

TAUS = (0.0005, 0.005, 0.02, 0.05)


def judged(h, p, decided, features, *, far):
    """Return the mean weight over the decided share, its error, whether it rings, and which features ring.

    ``h``: the policy's probability of what every event shows, ``p`` the propensity; ``decided``: the policy's whole
    share in its context; ``features``: a column for each; ``far``: how far from its mean an event is taken to lie that
    the log lacks.
    """
    traffic, means = decided.sum(), []
    for tau in TAUS:
        w = h / np.maximum(p, tau)
        mean = 1 + (w - decided).sum() / traffic
        squares = ((w - decided) ** 2).sum() + (1 if mean > 1 else 9) * w.max() ** 2
        means.append((mean, np.sqrt(squares) / traffic))
    (mean, error), *clipped = means
    weight_rings = abs(mean - 1) > max(0.05, 3 * error)
    weight_rings |= any(one - 1 > max(0.05, norm.isf(norm.sf(3) / 4) * of) for one, of in clipped)
    w = h / np.maximum(p, TAUS[0])
    excess = w - decided
    centres = decided @ features / traffic
    centred = features - centres
    spread = np.sqrt(decided @ centred**2 / traffic)
    own = np.sqrt(excess**2 @ centred**2 + w.max() ** 2 * far(centres, spread) ** 2)
    z = norm.isf(norm.sf(3) / features.shape[1])
    rings = np.abs(excess @ centred) > np.maximum(0.05 * spread * traffic, z * own)
    return mean, error, weight_rings, rings


def rings_given_epochs(h, p, own, shown):
    """Return the mean weight given the epochs, its error at the smallest tau, and whether it rings.

    ``h``, ``p``, ``own``: [event, action], the policy's, the mixture's and the own epoch's; ``shown``: the action.
    """
    events = len(shown)
    seen = np.zeros_like(p)
    seen[np.arange(events), shown] = 1
    means = []
    for tau in (*TAUS, 1.0):
        w = h / np.maximum(p, tau)
        excess = (w * (seen - own)).sum(axis=1)
        said = (own * w**2).sum(axis=1) - (own * w).sum(axis=1) ** 2
        means.append((excess.mean(), np.sqrt(max((excess**2).sum(), said.sum())) / events))
    *weights, (matched, of_matched) = means
    rings = abs(weights[0][0]) > max(0.05, 3 * weights[0][1])
    rings |= any(one > max(0.05, norm.isf(norm.sf(3) / 4) * of) for one, of in weights[1:])
    off = any(np.sign(matched) * one > max(0.05, 2 * of) for one, of in weights)
    rings |= off and abs(matched) > 3 * of_matched
    return 1 + weights[0][0], weights[0][1], rings


def epochs_log(rng, events, *, epochs, actions, strength, explore):
    """Contexts of four numbers, and a softmax logger that is another one in every epoch; arrays are [event, action].

    Returns contexts, the true propensities of all epochs and of the event's own, and the action shown.
    """
    x = rng.normal(size=(events, 4))
    scores = np.einsum("td,edk->tek", x, strength * rng.normal(size=(epochs, 4, actions)))
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    p = (1 - explore) * p / p.sum(axis=2, keepdims=True) + explore / actions
    own = p[np.arange(events), rng.integers(0, epochs, events)]
    shown = np.minimum((own.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1), actions - 1)
    return x, p.mean(axis=1), own, shown


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
