"""Boosted trees on numbers and categories of contexts and actions together, learned by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, UsageError, silent
from warmstart.features import FeatureRows, few_threads, scikit_learn
from warmstart.reward.examples import Examples
from warmstart.scoring import EVERY_LEAF, MOST_LEAVES, WORDS_OF_A_SET, TreesModel, category_of, dense

# Measured on five full-information sets and a world of thresholds: as good as one ensemble an action, or better.
LEAVES, TREES, RATE = 31, 200, 0.1
MOST_COLUMNS = 500
EDGE = 1e-6
NO_SET = np.zeros(WORDS_OF_A_SET, dtype=np.uint32)
# The column of a split, its threshold, the leaves that are left on the right, the set of categories on the left.
Split = tuple[int, float, int, NDArray[np.uint32]]
# The nodes of a tree, its sets, and the column of the category.
Tree = tuple[NDArray[Any], NDArray[Any], int]


def learn_trees(
    examples: Examples,
    tau: float,
    x: FeatureRows,
    a: FeatureRows,
    *,
    seed: int = 0,
    threads: int | None = None,
    on_progress: Progress = silent,
) -> TreesModel:
    """Learn from cells with weights 1 / max(propensity, tau).

    Every bucket in use is a column: numbers as they are, words and categories as 0 and 1. Actions that are known by
    their name alone are a category. From 10,000 rows on a tenth
    of them tells when to stop (scikit-learn's early stopping).

    Args:
        examples: the cells.
        tau: the clipping constant of the weights.
        x: features of contexts.
        a: features of actions.
        seed: of the rows that tell when to stop.
        threads: how many to use, if there are many rows; None: as many as scikit-learn does.
        on_progress: called with the step.
    """
    sides = [np.unique(rows.buckets) for rows in (x, a)]
    if (number := sum(map(len, sides))) > MOST_COLUMNS:
        what = f"Trees take numbers and categories; with {number:,} features, most of them words, they are too slow."
        raise UsageError(what, "Choose model='low-rank' or 'product'.")
    on_progress("learning", 0.0, "boosted trees")
    # Where every action has a feature of its own and no others, it is a category, of which splits take sets.
    own = np.flatnonzero(np.bincount(np.searchsorted(sides[1], a.buckets), minlength=len(sides[1])) == 1)
    category = category_of(a, sides[1][own])
    named = len(np.unique(category)) == len(a) and bool((category >= 0).all())
    sides[1] = sides[1][own] if named else sides[1]
    of_action = category[:, None] if named else dense(a, sides[1])
    both = np.hstack([dense(x, sides[0])[examples.contexts], of_action[examples.actions]])
    weight = examples.weights(tau)
    weight /= weight.mean()
    weights = np.concatenate([weight * examples.reward_sum, weight * (examples.n - examples.reward_sum)])
    kept = np.flatnonzero(weights > 0)
    y = np.repeat([1, 0], len(examples))
    if len(np.unique(y[kept])) < 2:
        mean = min(max(float(examples.reward_sum.sum() / examples.n.sum()), EDGE), 1 - EDGE)
        return tree_arrays([], float(np.log(mean / (1 - mean))), sides)
    result = scikit_learn("ensemble").HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES,
        max_iter=TREES,
        learning_rate=RATE,
        categorical_features=[both.shape[1] - 1] if named else None,
        random_state=seed,
    )
    with few_threads(len(kept), threads):
        result.fit(np.vstack([both, both])[kept], y[kept], sample_weight=weights[kept])
    seen = np.unique(category[examples.actions]).astype(np.int64) if named else None
    nodes = [(trees[0].nodes, _sets(trees[0].raw_left_cat_bitsets, seen)) for trees in result._predictors]
    on_progress("learning", 1.0, "boosted trees")
    return tree_arrays(nodes, float(result._baseline_prediction.item()), sides)


def tree_arrays(
    trees: list[tuple[NDArray[Any], NDArray[Any]]], baseline: float, sides: list[NDArray[np.uint32]]
) -> TreesModel:
    """Return trees of scikit-learn (arrays of nodes) as splits with masks of leaves.

    Args:
        trees: their nodes, and the sets of categories that go to the left.
        baseline: what leaves are added to.
        sides: the buckets of contexts and of actions that columns are.
    """
    leaves = np.zeros((len(trees), MOST_LEAVES))
    starts, splits = [0], list[Split]()
    category = sum(map(len, sides))
    for number, (nodes, sets) in enumerate(trees):
        values: list[float] = []
        _add((nodes, sets, category), 0, splits, values)
        leaves[number, : len(values)] = values
        starts.append(len(splits))
    columns, thresholds, masks, taken = zip(*splits, strict=True) if splits else ((), (), (), ())
    return TreesModel(
        sides[0],
        sides[1],
        np.array(starts, dtype=np.int64),
        np.array(columns, dtype=np.uint32),
        np.array(thresholds, dtype=np.float64),
        np.array(masks, dtype=np.uint32),
        np.array(taken, dtype=np.uint32).reshape(-1, WORDS_OF_A_SET),
        leaves,
        baseline,
    )


def _sets(found: NDArray[np.uint32], seen: NDArray[np.int64] | None) -> NDArray[np.uint32]:
    """Return sets of categories: scikit-learn numbers those that training has seen."""
    if seen is None:
        return np.zeros((0, WORDS_OF_A_SET), dtype=np.uint32)
    result = np.zeros((len(found) + 1, WORDS_OF_A_SET), dtype=np.uint32)
    for number, category in enumerate(seen.tolist()):
        bits = (found[:, number >> 5] >> np.uint32(number & 31)) & np.uint32(1)
        result[:-1, category >> 5] |= bits << np.uint32(category & 31)
    return result


def _add(tree: Tree, at: int, splits: list[Split], values: list[float]) -> None:
    """Add the splits below a node, and its leaves from left to right."""
    nodes, sets, category = tree
    node = nodes[at]
    if node["is_leaf"]:
        values.append(float(node["value"]))
        return
    first = len(values)
    _add(tree, int(node["left"]), splits, values)
    # The leaves on the left, whose numbers are known now, are out for a row that goes to the right.
    out = sum(1 << leaf for leaf in range(first, len(values)))
    left = int(EVERY_LEAF) & ~out
    if node["is_categorical"]:
        splits.append((category, 0.0, left, sets[node["bitset_idx"]]))
    else:
        # scikit-learn puts the category before all other columns.
        splits.append((int(node["feature_idx"]) - bool(len(sets)), float(node["num_threshold"]), left, NO_SET))
    _add(tree, int(node["right"]), splits, values)
