"""Fit a grouping: hashed TF-IDF, truncated SVD and k-means, the same on any number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import EmptyWindowError, UsageError, check_seed
from warmstart.features import scikit_learn, text_parts
from warmstart.grouping.grouping import (
    BITS,
    Floats,
    Grouping,
    nearest_centres,
    numbered,
    sizes_of,
    word_rows,
)
from warmstart.results import GroupsTried

if TYPE_CHECKING:
    from warmstart.scoring import SparseRows

DIMENSIONS, STARTS, ITERATIONS = 32, 4, 5
# Numbers of groups to try; small ones are dissolved into their neighbours.
LADDER = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Of what the best number of groups explains, the share that is enough.
ENOUGH = 0.8
# A group's name has up to three words, each shared by five of its texts and by few of all.
SHARED_BY, WORDS_IN_NAME, SHORTEST_WORD, COMMON = 5, 3, 3, 0.25


@dataclass(frozen=True, eq=False)
class Fit:
    """A grouping, and what each number of groups that was tried gave."""

    grouping: Grouping
    tried: tuple[GroupsTried, ...]


def fit_grouping(values: pa.Array, weights: Floats, *, groups: int | None, least: int, seed: int) -> Fit:
    """Fit groups to different texts or embeddings.

    Of the numbers tried, the fewest groups are taken that explain four fifths of the spread that any explains; each has
    ``least`` events, smaller ones are dissolved. All runs on one thread, in the order of the values.

    Args:
        values: different texts, or lists of numbers.
        weights: how many events each has.
        groups: their number; None to choose.
        least: the events that a group needs where the number is chosen.
        seed: of the starts.
    """
    from threadpoolctl import threadpool_limits

    check_seed(seed)

    is_text = not (pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type))
    scikit_learn("cluster")
    with threadpool_limits(1):
        projection = _projection(word_rows(values), weights, seed) if is_text else None
        empty = Grouping((), np.zeros((0, 1 if is_text else _dimensions(values))), projection)
        places = empty.places(values)
        known = places.any(axis=1)
        if not known.any():
            raise EmptyWindowError("No text has a word, and no embedding a number.", "Is it the right column?")
        scaled, dimensions = np.sqrt(weights)[:, None] * places, min(DIMENSIONS, *places.shape)
        directions = None if is_text else _directions(scaled, dimensions, seed)
        asked = _numbers(weights, groups, least)
        fewest = least if groups is None else 1
        runs = [_run(places[known], weights[known], n, least=fewest, seed=seed) for n in asked]
    enough = ENOUGH * max(one.explained for _, one in runs) - 1e-9
    centres, tried = min((run for run in runs if run[1].explained >= enough), key=lambda run: run[1].groups)
    nearest = nearest_centres(places, centres)
    order = np.argsort(-sizes_of(nearest, weights, len(centres)), kind="stable")
    place_of = np.argsort(order)
    ordered = np.where(nearest < 0, -1, place_of[nearest])
    words = _words(values, ordered, len(centres)) if is_text else [[] for _ in order]
    chosen = GroupsTried(tried.asked, tried.groups, tried.smallest, tried.explained, chosen=True)
    every = tuple(chosen if one is tried else one for _, one in runs)
    return Fit(Grouping(numbered(words), centres[order], projection, directions), every)


def _numbers(weights: Floats, groups: int | None, least: int) -> list[int]:
    """Return the numbers of groups to try."""
    most = len(weights)
    if groups is not None:
        if not 1 <= groups <= most:
            raise UsageError(f"There cannot be {groups} groups of {most:,} different values.")
        return [groups]
    return [n for n in LADDER if n <= most and n * least <= weights.sum()] or [1]


def _run(places: Floats, weights: Floats, asked: int, *, least: int, seed: int) -> tuple[Floats, GroupsTried]:
    """Return centres, none with fewer events than ``least``, and what they explain."""
    means = scikit_learn("cluster").KMeans(asked, n_init=STARTS, random_state=seed, algorithm="lloyd")
    centres = means.fit(places, sample_weight=weights).cluster_centers_.astype(np.float64)
    while True:
        nearest = nearest_centres(places, centres)
        sizes = sizes_of(nearest, weights, len(centres))
        smallest = int(np.argmin(sizes))
        if len(centres) == 1 or sizes[smallest] >= least:
            break
        centres = np.delete(centres, smallest, axis=0)
    spread = ((places - np.average(places, axis=0, weights=weights)) ** 2).sum(axis=1) @ weights
    inside = ((places - centres[nearest]) ** 2).sum(axis=1) @ weights
    explained = max(0.0, 1 - float(inside / spread)) if spread > 0 else 0.0
    return centres, GroupsTried(asked, len(centres), int(sizes[smallest]), explained)


def _projection(rows: SparseRows, weights: Floats, seed: int) -> NDArray[np.float32]:
    """Return, for every bucket of words, its weight (inverse document frequency) times its singular vectors."""
    from scipy.sparse import csr_array

    buckets = 1 << BITS
    texts_with = np.bincount(rows.buckets, minlength=buckets)
    inverse = np.log((1 + len(rows)) / (1 + texts_with)) + 1
    values = rows.values * inverse[rows.buckets]
    lengths = np.sqrt(np.add.reduceat(np.append(values**2, 0), rows.starts[:-1].clip(max=len(values))))
    owners = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    scaled = values / np.maximum(lengths, 1e-12)[owners] * np.sqrt(weights)[owners]
    matrix = csr_array((scaled, rows.buckets.astype(np.int64), rows.starts), shape=(len(rows), buckets))
    matrix.sum_duplicates()
    dimensions = min(DIMENSIONS, len(rows), int((texts_with > 0).sum()))
    if dimensions < 1:
        return np.zeros((buckets, 1), dtype=np.float32)
    result: NDArray[np.float32] = (inverse[:, None] * _directions(matrix, dimensions, seed)).astype(np.float32)
    return result


def _directions(rows: Any, dimensions: int, seed: int) -> NDArray[Any]:
    """Return the first singular vectors of weighted rows, a column each."""
    svd = scikit_learn("decomposition").TruncatedSVD(dimensions, n_iter=ITERATIONS, random_state=seed)
    result: NDArray[Any] = svd.fit(rows).components_.T
    return result


def _words(texts: pa.Array, nearest: NDArray[np.int64], groups: int) -> list[list[str]]:
    """Return the words that tell each group from the others: in many of its texts and in few of the rest."""
    (part,) = text_parts(texts)
    counts = np.bincount(part.codes, minlength=len(part.names))
    names: list[Any] = list(part.names)
    common = scikit_learn("feature_extraction.text").ENGLISH_STOP_WORDS
    most = max(COMMON * len(texts), 2 * SHARED_BY)
    usable = [
        i
        for i, name in enumerate(names)
        if SHARED_BY <= counts[i] <= most and len(name) >= SHORTEST_WORD and name.isalpha() and name not in common
    ]
    place = np.full(len(names), -1)
    place[usable] = np.arange(len(usable))
    of_group = nearest[part.rows]
    kept = (place[part.codes] >= 0) & (of_group >= 0)
    table = np.bincount(of_group[kept] * len(usable) + place[part.codes[kept]], minlength=groups * len(usable))
    table = table.reshape(groups, len(usable))
    texts_in = np.bincount(nearest[nearest >= 0], minlength=groups)[:, None]
    inside = table / np.maximum(texts_in, 1)
    outside = (table.sum(axis=0) - table) / np.maximum(texts_in.sum() - texts_in, 1)
    telling = np.where(table >= SHARED_BY, inside * np.log((inside + 0.001) / (outside + 0.001)), 0)
    result = []
    for row in telling:
        best = sorted(range(len(usable)), key=lambda i: (-round(float(row[i]), 9), names[usable[i]]))[:WORDS_IN_NAME]
        result.append([names[usable[i]] for i in best if row[i] > 0])
    return result


def _dimensions(values: pa.Array) -> int:
    import pyarrow.compute as pc

    lengths = pc.unique(pc.drop_null(pc.list_value_length(values))).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        raise UsageError("Embeddings have to be lists of one length.", f"These have the lengths {lengths[:5]}.")
    return int(lengths[0])
