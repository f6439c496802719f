"""A grouping: where texts or embeddings lie in a small space, and the nearest of its centres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import ColumnError, UsageError, quoted, text_array
from warmstart.features import feature_rows, vectors_of
from warmstart.scoring import FeatureSettings, SparseRows

# The hashed words of a text: 2^14 buckets.
BITS = 14
NONE = "(none)"
# Distances that agree so far are equal, whatever order a processor adds in; the first centre is then the nearest.
DECIMALS = 9
# Features of equal texts are equal, whoever computes them.
FEATURE_DECIMALS = 6
Floats = NDArray[np.float64]
VALUE = "value"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of texts, or of embeddings; ``names`` in the order of ``centres``.

    ``projection``: a row for every bucket of words (TF-IDF weight times singular vectors); None for embeddings.
    ``directions``: singular vectors of embeddings, a column each; None for texts.
    """

    names: tuple[str, ...]
    centres: Floats
    projection: NDArray[np.float32] | None
    directions: NDArray[np.float32] | None = None

    def assign(self, values: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return the name of the group of each text or embedding; ``(none)`` where it has no known word, or is null."""
        nearest = nearest_centres(self.places(values), self.centres).tolist()
        return text_array([NONE if i < 0 else self.names[i] for i in nearest])

    def features(self, values: pa.Array | pa.ChunkedArray, numbers: int) -> Floats:
        """Return so many numbers for each text or embedding: where it lies along the first directions of the SVD.

        They are 0 where a text has no known word, or is null.
        """
        source = self.projection if self.directions is None else self.directions
        if source is None:
            raise UsageError("The grouping of these embeddings has no directions.", "Group again with this version.")
        if not 1 <= numbers <= source.shape[1]:
            raise UsageError(f"There cannot be {numbers} features: this grouping has {source.shape[1]} directions.")
        places = self.places(values)
        if self.directions is not None:
            places = np.einsum("ij,jk->ik", places, self.directions[:, :numbers].astype(np.float64))
        result: Floats = np.round(places[:, :numbers], FEATURE_DECIMALS) + 0.0
        return result

    def places(self, values: pa.Array | pa.ChunkedArray) -> Floats:
        """Return where texts or embeddings lie: vectors of length 1, or 0 where nothing is known."""
        column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if self.projection is None:
            return unit_rows(embeddings(column, self.centres.shape[1]))
        return unit_rows(word_rows(column).times(self.projection, np.float64))


def word_rows(texts: pa.Array) -> SparseRows:
    """Return the hashed words of texts."""
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) or pa.types.is_null(texts.type)):
        raise ColumnError(f"Texts are text, and these are {quoted(str(texts.type))}.", "Embeddings have an option.")
    settings = FeatureSettings(BITS, constant=False, kinds={VALUE: "text"})
    return feature_rows(pa.table({VALUE: texts.cast(pa.string())}), len(texts), settings)


def embeddings(column: pa.Array, dimensions: int) -> Floats:
    """Return lists of numbers as rows; a null is 0."""
    rows, vectors = vectors_of(column, "embedding", dimensions)
    if not np.isfinite(vectors).all():
        raise ColumnError("Embeddings hold nulls, NaN or infinities.", "Mend or leave out those rows.")
    result = np.zeros((len(column), dimensions))
    result[rows] = vectors
    return result


def unit_rows(rows: Floats) -> Floats:
    """Return rows of length 1; those of length 0 as they are."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    result: Floats = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    return result


def nearest_centres(places: Floats, centres: Floats) -> NDArray[np.int64]:
    """Return the index of the nearest centre; -1 for a place of length 0."""
    closeness = 2 * np.einsum("ij,kj->ik", places, centres) - np.einsum("kj,kj->k", centres, centres)
    nearest: NDArray[np.int64] = np.argmax(np.round(closeness, DECIMALS), axis=1).astype(np.int64)
    nearest[~places.any(axis=1)] = -1
    return nearest


def sizes_of(nearest: NDArray[np.int64], weights: Floats, groups: int) -> Floats:
    """Return the weight of each group."""
    known = nearest >= 0
    return np.bincount(nearest[known], weights=weights[known], minlength=groups).astype(np.float64)


def numbered(words: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Name groups by their number and words.

    >>> numbered([["cell", "membrane"], []])
    ('1 cell membrane', '2')
    """
    return tuple(" ".join([str(i), *listed]) for i, listed in enumerate(words, start=1))
