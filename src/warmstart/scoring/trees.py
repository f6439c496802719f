"""Boosted trees as they predict, with NumPy alone.

No path is walked. A tree has at most 32 leaves, numbered from left to right, and each of its splits is a mask: where a
row goes to the right, the leaves on the left are out. What is left of the masks of a context and of an action is joined
by AND, and the leaf is the first that is still in (Lucchese et al. 2015, QuickScorer).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.scoring.models import Block, ByFeatures, Floats, Predictor, Singles, by_block, sigmoid
from warmstart.scoring.rows import SparseRows

MOST_LEAVES = 32
EVERY_LEAF = np.uint32(0xFFFFFFFF)
MOST_CATEGORIES, WORDS_OF_A_SET = 255, 8
PAIRS_AT_A_TIME = 50_000
Masks = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class TreesModel(ByFeatures):
    """Trees over columns: the ``context_columns`` and then the ``action_columns``, buckets in rising order.

    Of every split: its ``columns``, ``thresholds`` and ``masks``, the leaves that are left to a row with more than the
    threshold. The column after the last is the category of an action, which of the action columns it has: what is left
    to it is all leaves if its bit in ``sets`` is 1. The splits of tree i are ``starts[i]:starts[i + 1]``.
    ``leaves``: by tree, what they add to the ``baseline``, in log-odds.
    """

    context_columns: NDArray[np.uint32]
    action_columns: NDArray[np.uint32]
    starts: NDArray[np.int64]
    columns: NDArray[np.uint32]
    thresholds: Floats
    masks: Masks
    sets: Masks
    leaves: Floats
    baseline: float

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and rows of ``a``."""
        return self.for_actions(a)(contexts, actions, x)

    def for_actions(self, a: SparseRows) -> Predictor:
        """Find the leaves that the actions leave to contexts."""
        of_context = self.columns < len(self.context_columns)
        of_actions = self._left(self._with_category(a), np.flatnonzero(~of_context), len(self.context_columns))

        def block(x: SparseRows) -> Block:
            of_contexts = self._left(dense(x, self.context_columns), np.flatnonzero(of_context), 0)

            def expected(contexts: NDArray[Any], actions: NDArray[Any]) -> Singles:
                odds = np.empty(len(contexts))
                for begin in range(0, len(contexts), PAIRS_AT_A_TIME):
                    some = slice(begin, begin + PAIRS_AT_A_TIME)
                    odds[some] = self._odds(of_contexts, of_actions, contexts[some], actions[some])
                return sigmoid(odds)

            return expected

        return by_block(block)

    def _left(self, rows: Floats, splits: NDArray[Any], first: int) -> list[Masks]:
        """Return for every tree the leaves that some of the splits leave to each row; columns count from ``first``."""
        left = [np.full(len(rows), EVERY_LEAF) for _ in self.leaves]
        tree = np.searchsorted(self.starts, splits, side="right") - 1
        for of, split in zip(tree.tolist(), splits.tolist(), strict=True):
            more = self._goes_right(rows, split, int(self.columns[split]) - first)
            left[of] &= np.where(more, self.masks[split], EVERY_LEAF)
        return left

    def _goes_right(self, rows: Floats, split: int, column: int) -> NDArray[np.bool_]:
        if self.columns[split] < len(self.context_columns) + len(self.action_columns):
            above: NDArray[np.bool_] = rows[:, column] > self.thresholds[split]
            return above
        category = rows[:, column].astype(np.int64)
        known = (self.sets[split][np.maximum(category, 0) >> 5] >> (category & 31).astype(np.uint32)) & 1
        other: NDArray[np.bool_] = (known == 0) | (category < 0)
        return other

    def _with_category(self, a: SparseRows) -> Floats:
        return np.column_stack([dense(a, self.action_columns), category_of(a, self.action_columns)])

    def _odds(self, contexts: list[Masks], actions: list[Masks], rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        odds = np.full(len(rows), self.baseline)
        for values, of_contexts, of_actions in zip(self.leaves, contexts, actions, strict=True):
            odds += values[_first_bits(of_contexts[rows] & of_actions[columns])]
        return odds


def dense(rows: SparseRows, buckets: NDArray[np.uint32]) -> Floats:
    """Return the features as a matrix with one column for each of the buckets; what a row has twice is added up."""
    mine = rows.among(buckets)
    owner = np.repeat(np.arange(len(rows)), np.diff(mine.starts))
    result = np.zeros((len(rows), len(buckets)))
    np.add.at(result, (owner, mine.buckets), mine.values)
    return result


def category_of(rows: SparseRows, buckets: NDArray[np.uint32]) -> Floats:
    """Return which of the buckets a row has, as a place; -1 for rows with none or several, or places from 255 on."""
    mine = rows.among(buckets)
    alone = np.flatnonzero(np.diff(mine.starts) == 1)
    result = np.full(len(rows), -1.0)
    result[alone] = mine.buckets[mine.starts[alone]]
    return np.where(result < MOST_CATEGORIES, result, -1.0)


def _first_bits(masks: Masks) -> NDArray[np.int64]:
    """Return the place of the lowest bit of every mask, of which there is one: the exponent of its power of two."""
    lowest = masks & (~masks + np.uint32(1))
    return (lowest.astype(np.float32).view(np.int32) >> 23).astype(np.int64) - 127
