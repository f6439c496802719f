"""A low-rank model: contexts and actions belong to a few groups by their features, and pairs of groups have a factor.

Features (words, categories) are weighted by how rare they are and projected to some dozens of singular vectors; rows
are members of the nearest of the groups found there. A pair of rows earns the mean reward times the factors of its
pairs of groups, weighted by the memberships. Factors are fitted with those of contexts and actions in turn, as in a
Poisson regression (expectation-maximisation), and shrunk to 1. A feature that every row has says nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, silent
from warmstart.features import FeatureRows, scikit_learn
from warmstart.reward.credibility import ACTION_HALF, CONTEXT_HALF
from warmstart.reward.examples import Examples
from warmstart.scoring import Groups, LowRankModel, Members, unit

# Measured on simulated months: 25 to 60 groups and 30 to 100 vectors learn the same within .01 of the scale.
VECTORS, GROUPS = 50, 40
# A factor is shrunk half way at so many expected rewards.
GROUP_HALF = 2.0
ROUNDS, STEPS = 8, 2
ROWS_TO_LEARN_GROUPS = 100_000
Floats = NDArray[np.float64]


def learn_groups(rows: FeatureRows, buckets: int, seed: int) -> Groups:
    """Find the groups of rows by their features."""
    from scipy import sparse

    if len(rows) > ROWS_TO_LEARN_GROUPS:
        rows = rows.take(np.random.default_rng(seed).choice(len(rows), ROWS_TO_LEARN_GROUPS, replace=False))
    # A copy: SciPy adds up what a row has twice in place, and the arrays belong to the rows.
    matrix = _matrix(rows, buckets).copy()
    matrix.sum_duplicates()
    occurs = np.bincount(matrix.indices, minlength=buckets)
    rarity = np.where(occurs > 0, np.log((len(rows) + 1) / (occurs + 1)), 0.0)
    weighted = matrix @ sparse.diags_array(rarity)
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    weighted = sparse.diags_array(1 / np.maximum(lengths, 1e-9)) @ weighted
    used = np.flatnonzero((occurs > 0) & (rarity > 0))
    vectors = max(min(VECTORS, len(used) - 1, len(rows) - 1), 1)
    projection = np.zeros((buckets, vectors), dtype=np.float32)
    if len(used) > 1 and len(rows) > 1:
        _, _, right = scikit_learn("utils.extmath").randomized_svd(
            weighted[:, used], vectors, n_iter=3, random_state=seed
        )
        projection[used] = rarity[used, None] * right.T
    points = unit(matrix @ projection)
    groups = min(GROUPS, len(np.unique(points.round(6), axis=0)))
    result = scikit_learn("cluster").MiniBatchKMeans(groups, n_init=3, batch_size=4096, random_state=seed).fit(points)
    return Groups(projection, unit(result.cluster_centers_).astype(np.float32))


def learn_low_rank(
    examples: Examples,
    tau: float,
    x: FeatureRows,
    a: FeatureRows,
    *,
    bits: tuple[int, int],
    seed: int = 0,
    on_progress: Progress = silent,
) -> LowRankModel:
    """Learn from cells with weights 1 / max(propensity, tau).

    Args:
        examples: the cells.
        tau: the clipping constant of the weights.
        x: features of contexts.
        a: features of actions.
        bits: of the numbers of context features and action features.
        seed: of the search for groups.
        on_progress: called with the step and the share that is done.
    """
    on_progress("finding groups of contexts")
    left = learn_groups(x, 1 << bits[0], seed)
    on_progress("finding groups of actions")
    right = learn_groups(a, 1 << bits[1], seed)
    weight = examples.weights(tau)
    weight *= examples.n.sum() / (weight * examples.n).sum()
    n, rewards = weight * examples.n, weight * examples.reward_sum
    mean = float(rewards.sum() / n.sum())
    size = len(left.centers) * len(right.centers)
    members = left.members(x), right.members(a)
    pairs, shares = _pairs(*members, examples.contexts, examples.actions, len(right.centers))
    factors, by_context, by_action = np.ones(size), np.ones(len(x)), np.ones(len(a))
    match = _match(factors, pairs, shares)
    for number in range(ROUNDS):
        given = mean * n * match
        by_action = _shrunk(examples.actions, rewards, given * by_context[examples.contexts], len(a), ACTION_HALF)
        by_context = _shrunk(examples.contexts, rewards, given * by_action[examples.actions], len(x), CONTEXT_HALF)
        given = mean * n * by_context[examples.contexts] * by_action[examples.actions]
        for _ in range(STEPS):
            ratio = rewards / np.maximum(match, 1e-9)
            actual, expected = np.full(size, GROUP_HALF), np.full(size, GROUP_HALF)
            for pair, share in zip(pairs, shares, strict=True):
                actual += factors * np.bincount(pair, share * ratio, size)
                expected += np.bincount(pair, share * given, size)
            factors = actual / expected
            match = _match(factors, pairs, shares)
        on_progress("learning", (number + 1) / ROUNDS, "pairs of groups")
    # What the ids of a group have in common is the group's: rows that were never seen have it too.
    given = mean * n * match
    level = _levels(members[0], by_context, _sums(examples.contexts, given, len(x)), len(left.centers))
    levels = np.outer(level, _levels(members[1], by_action, _sums(examples.actions, given, len(a)), len(right.centers)))
    return LowRankModel(left, right, factors.reshape(levels.shape) * levels, mean)


def _matrix(rows: FeatureRows, buckets: int) -> Any:
    from scipy import sparse

    return sparse.csr_array((rows.values, rows.buckets.astype(np.int64), rows.starts), (len(rows), buckets))


def _pairs(
    left: Members, right: Members, contexts: NDArray[Any], actions: NDArray[Any], width: int
) -> tuple[list[NDArray[np.int64]], list[Floats]]:
    """Return the pairs of groups of every cell as numbers, and how much the cell belongs to each."""
    places = [(i, j) for i in range(left.groups.shape[1]) for j in range(right.groups.shape[1])]
    pairs = [left.groups[contexts, i] * width + right.groups[actions, j] for i, j in places]
    return pairs, [left.shares[contexts, i] * right.shares[actions, j] for i, j in places]


def _match(factors: Floats, pairs: list[NDArray[np.int64]], shares: list[Floats]) -> Floats:
    """Return the factor of every cell: that of its pairs of groups by share, and 1 for what belongs to no group."""
    result = np.ones(len(pairs[0]))
    for pair, share in zip(pairs, shares, strict=True):
        result += share * (factors[pair] - 1)
    return result


def _shrunk(groups: NDArray[Any], rewards: Floats, expected: Floats, size: int, half: float) -> Floats:
    actual, total = np.bincount(groups, rewards, size), np.bincount(groups, expected, size)
    result: Floats = (actual + half) / (total + half)
    return result


def _levels(members: Members, factors: Floats, expected: Floats, groups: int) -> Floats:
    """Return the mean factor of the rows of every group, weighted by their expected rewards, and shrunk to 1."""
    actual, total = np.full(groups, GROUP_HALF), np.full(groups, GROUP_HALF)
    for group, share in zip(members.groups.T, members.shares.T, strict=True):
        actual += np.bincount(group, share * expected * factors, groups)
        total += np.bincount(group, share * expected, groups)
    result: Floats = actual / total
    return result


def _sums(groups: NDArray[Any], amounts: Floats, size: int) -> Floats:
    return np.bincount(groups, amounts, size).astype(np.float64)
