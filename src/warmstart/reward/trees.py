"""Boosted trees on numbers and categories of contexts and actions together, learned by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, UsageError, silent
from warmstart.features import FeatureRows, scikit_learn
from warmstart.reward.examples import Examples
from warmstart.scoring import EVERY_LEAF, MOST_LEAVES, TreesModel, dense

# Measured on five full-information sets and a world of thresholds: as good as one ensemble an action, or better.
LEAVES, TREES, RATE = 31, 200, 0.1
# A leaf has so many rows at least; fewer where there are few.
ROWS_IN_A_LEAF, FEWEST_IN_A_LEAF, LEAVES_OF_ROWS = 20, 5, 50
MOST_COLUMNS = 500
EDGE = 1e-6


def learn_trees(
    examples: Examples,
    tau: float,
    x: FeatureRows,
    a: FeatureRows,
    *,
    seed: int = 0,
    on_progress: Progress = silent,
) -> TreesModel:
    """Learn from cells with weights 1 / max(propensity, tau).

    Every bucket in use is a column: numbers as they are, words and categories as 0 and 1. From 10,000 rows on a tenth
    of them tells when to stop (scikit-learn's early stopping).

    Args:
        examples: the cells.
        tau: the clipping constant of the weights.
        x: features of contexts.
        a: features of actions.
        seed: of the rows that tell when to stop.
        on_progress: called with the step.
    """
    sides = [np.unique(rows.buckets) for rows in (x, a)]
    if (number := sum(map(len, sides))) > MOST_COLUMNS:
        what = f"Trees take numbers and categories; with {number:,} features, most of them words, they are too slow."
        raise UsageError(what, "Choose model='low-rank' or 'product'.")
    on_progress("learning", 0.0, "boosted trees")
    both = np.hstack([dense(x, sides[0])[examples.contexts], dense(a, sides[1])[examples.actions]])
    weight = 1 / np.maximum(examples.propensity, tau)
    weight /= weight.mean()
    weights = np.concatenate([weight * examples.reward_sum, weight * (examples.n - examples.reward_sum)])
    kept = np.flatnonzero(weights > 0)
    y = np.repeat([1, 0], len(examples))
    if len(np.unique(y[kept])) < 2:
        mean = min(max(float(examples.reward_sum.sum() / examples.n.sum()), EDGE), 1 - EDGE)
        return tree_arrays([], float(np.log(mean / (1 - mean))), sides)
    found = scikit_learn("ensemble").HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES,
        max_iter=TREES,
        learning_rate=RATE,
        min_samples_leaf=min(ROWS_IN_A_LEAF, max(FEWEST_IN_A_LEAF, len(kept) // LEAVES_OF_ROWS)),
        random_state=seed,
    )
    found.fit(np.vstack([both, both])[kept], y[kept], sample_weight=weights[kept])
    nodes = [trees[0].nodes for trees in found._predictors]
    on_progress("learning", 1.0, "boosted trees")
    return tree_arrays(nodes, float(found._baseline_prediction.item()), sides)


def tree_arrays(trees: list[NDArray[Any]], baseline: float, sides: list[NDArray[np.uint32]]) -> TreesModel:
    """Return trees of scikit-learn (arrays of nodes) as splits with masks of leaves.

    Args:
        trees: their nodes.
        baseline: what leaves are added to.
        sides: the buckets of contexts and of actions that columns are.
    """
    leaves = np.zeros((len(trees), MOST_LEAVES))
    starts, splits = [0], list[tuple[int, float, int]]()
    for number, nodes in enumerate(trees):
        values: list[float] = []
        _add(nodes, 0, splits, values)
        leaves[number, : len(values)] = values
        starts.append(len(splits))
    columns, thresholds, masks = zip(*splits, strict=True) if splits else ((), (), ())
    return TreesModel(
        sides[0],
        sides[1],
        np.array(starts, dtype=np.int64),
        np.array(columns, dtype=np.uint32),
        np.array(thresholds, dtype=np.float64),
        np.array(masks, dtype=np.uint32),
        leaves,
        baseline,
    )


def _add(nodes: NDArray[Any], at: int, splits: list[tuple[int, float, int]], values: list[float]) -> None:
    """Add the splits below a node, and its leaves from left to right."""
    node = nodes[at]
    if node["is_leaf"]:
        values.append(float(node["value"]))
        return
    first = len(values)
    _add(nodes, int(node["left"]), splits, values)
    # The leaves on the left, whose numbers are known now, are out for a row that goes to the right.
    out = sum(1 << leaf for leaf in range(first, len(values)))
    splits.append((int(node["feature_idx"]), float(node["num_threshold"]), int(EVERY_LEAF) & ~out))
    _add(nodes, int(node["right"]), splits, values)
