"""Cells and features of small worlds whose expected rewards are known."""

import numpy as np
import pyarrow as pa

from warmstart.features import feature_rows, settings_of_table
from warmstart.reward import Examples, FitSettings, Learner
from warmstart.scoring import SparseRows

BITS = (10, 8)


def cells(contexts, actions, means, n, seed=0):
    """Cells of n events each, their rewards drawn with these means."""
    x, n = np.asarray(contexts), np.broadcast_to(np.asarray(n, dtype=np.int64), np.shape(contexts)).astype(float)
    rewards = np.random.default_rng(seed).binomial(n.astype(int), means).astype(float)
    return Examples(x, np.asarray(actions), n, rewards, rewards, np.bincount(x, weights=n)[x])


def learner(contexts, actions):
    """A learner of cells without features."""
    nothing = np.zeros(0, int)
    rows = (SparseRows.of(nothing, nothing, np.zeros(0), size) for size in (contexts, actions))
    return Learner(*rows, FitSettings(model="cells"))


def features(bits, **columns):
    """Hashed rows of a table, and the settings that make them."""
    table = pa.table(columns)
    settings = settings_of_table(table, [], bits=bits, cross_only=False)
    return feature_rows(table, table.num_rows, settings), settings


def topics(seed, *, pages, ads, kinds=4, words=6):
    """Pages and ads with words of one topic each, and the topics."""
    rng = np.random.default_rng(seed)
    of_page, of_ad = rng.integers(kinds, size=pages), rng.integers(kinds, size=ads)

    def lists(topic, side):
        return [[f"{side}{one}-{word}" for word in rng.choice(words, 3, replace=False)] for one in topic]

    return of_page, of_ad, lists(of_page, "p"), lists(of_ad, "a")
