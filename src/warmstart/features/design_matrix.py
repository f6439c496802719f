"""Design matrix of contexts for scikit-learn models: standardised numbers, one-hot categories, hashed words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import ColumnError, no_such_column, quoted, to_arrow, to_numpy
from warmstart.features.hashed import feature_rows
from warmstart.features.keys import plain_column, positions
from warmstart.scoring import FeatureSettings

if TYPE_CHECKING:
    from scipy import sparse

Matrix: TypeAlias = "NDArray[np.float64] | sparse.csr_matrix[np.float64]"

WIDEST_DENSE = 256
MOST_CATEGORIES = 256
# Few integers may be codes (an hour, a slot, a device) that follow no line; as numbers they also serve unseen values.
FEWEST_CODES, MOST_CODES = 3, 32
# Counted between spaces: the parts of an id such as 2024-05-01 are no words.
WORDS_OF_TEXT = 3.0
WORD_BITS = 10
# In standard deviations; what models do with it stays finite.
FARTHEST = 1e30


@dataclass(frozen=True, eq=False)
class ContextMatrix:
    """How the columns of contexts become columns of numbers, the same for every table that has them.

    Numbers and times: less their mean, over their standard deviation (constant ones are 0). Integers of few values:
    categories too. Strings: the most frequent values, one column each, and one for all others and unseen ones; texts:
    hashed words, of length 1 together.
    """

    encoders: tuple[_Numbers | _Categories | _Words, ...]

    @classmethod
    def learn(cls, contexts: pa.Table, weights: NDArray[np.float64]) -> Self:
        """Learn means, spreads and categories from contexts that weigh as many events as they have."""
        if not contexts.column_names:
            raise ColumnError("The contexts have no columns.", "A model needs at least one.")
        names = contexts.column_names
        return cls(tuple(part for name in names for part in _learned(name, plain_column(contexts[name]), weights)))

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return sum(encoder.width for encoder in self.encoders)

    def apply(self, contexts: pa.Table) -> Matrix:
        """Turn contexts into rows, dense where there are few columns."""
        parts = [encoder.rows(_column(contexts, encoder.name)) for encoder in self.encoders]
        if self.width <= WIDEST_DENSE:
            return np.hstack([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])
        from scipy import sparse

        rows: sparse.csr_matrix[np.float64] = sparse.hstack([sparse.csr_matrix(part) for part in parts], format="csr")
        return rows


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A column as one of mean 0 and spread 1, counted from ``origin`` so that a constant has a spread of exactly 0.

    Values are first divided by 2 ** ``exponent``, which changes no digit: squares of the largest and of the smallest
    numbers would be infinite, or 0.
    """

    name: str
    origin: float
    mean: float
    per_spread: float
    exponent: int
    width: int = 1

    def rows(self, column: pa.Array) -> NDArray[np.float64]:
        if not self.per_spread:
            return np.zeros((len(column), 1))
        with np.errstate(over="ignore"):
            scaled = (np.ldexp(_as_floats(column), -self.exponent) - self.origin - self.mean) * self.per_spread
        # Of values that are far from all that was learned from, a model needs no more than that.
        return np.clip(scaled, -FARTHEST, FARTHEST)[:, None]


@dataclass(frozen=True, eq=False)
class _Categories:
    """A column as one of zeros and ones for each value, and the last for all other values."""

    name: str
    values: pa.Array

    @property
    def width(self) -> int:
        return len(self.values) + 1

    def rows(self, column: pa.Array) -> sparse.csr_matrix[np.float64]:
        from scipy import sparse

        # Unknown values, position -1, have the last column.
        one_hot = (np.ones(len(column)), positions(column, self.values) % self.width, np.arange(len(column) + 1))
        return sparse.csr_matrix(one_hot, shape=(len(column), self.width))


@dataclass(frozen=True, eq=False)
class _Words:
    """A column of text as hashed words."""

    name: str
    width: int = 1 << WORD_BITS

    def rows(self, column: pa.Array) -> sparse.csr_matrix[np.float64]:
        from scipy import sparse

        settings = FeatureSettings(WORD_BITS, constant=False, kinds={self.name: "text"})
        starts, buckets, values = feature_rows(pa.table({self.name: column}), len(column), settings).arrays
        hashed = (values.astype(np.float64), buckets.astype(np.int64), starts)
        return sparse.csr_matrix(hashed, shape=(len(column), self.width))


def _learned(name: str, column: pa.Array, weights: NDArray[np.float64]) -> Iterator[_Numbers | _Categories | _Words]:
    kind = column.type
    if types.is_nested(kind):
        raise ColumnError(f"Context column {quoted(name)} has type {kind}.", "Use numbers, strings, booleans or times.")
    if types.is_integer(kind) and FEWEST_CODES <= pc.count_distinct(column).as_py() <= MOST_CODES:
        yield _categories(name, column, weights)
    if types.is_boolean(kind) or types.is_decimal(kind) or types.is_primitive(kind):
        yield _numbers(name, column, weights)
    elif (types.is_string(kind) or types.is_large_string(kind)) and _mean_words(column, weights) >= WORDS_OF_TEXT:
        yield _Words(name)
    else:
        yield _categories(name, column, weights)


def _numbers(name: str, column: pa.Array, weights: NDArray[np.float64]) -> _Numbers:
    values = _as_floats(column)
    exponent = int(np.frexp(np.max(np.abs(values), initial=0.0))[1])
    values = np.ldexp(values, -exponent)
    origin = float(values[0]) if len(values) else 0.0
    distance = values - origin
    total = max(float(weights.sum()), np.finfo(float).tiny)
    mean = float(weights @ distance) / total
    spread = float(np.sqrt(weights @ (distance - mean) ** 2 / total))
    return _Numbers(name, origin, mean, 1 / spread if spread else 0.0, exponent)


def _categories(name: str, column: pa.Array, weights: NDArray[np.float64]) -> _Categories:
    encoded = pc.dictionary_encode(column)
    values = encoded.dictionary
    events = np.bincount(to_numpy(encoded.indices), weights=weights, minlength=len(values))
    in_order = to_numpy(pc.sort_indices(values)).astype(np.int64)
    most_frequent = in_order[np.argsort(-events[in_order], kind="stable")][:MOST_CATEGORIES]
    return _Categories(name, values.take(to_arrow(most_frequent)))


def _mean_words(column: pa.Array, weights: NDArray[np.float64]) -> float:
    words = to_numpy(pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(column))))
    return float(weights @ words) / max(float(weights.sum()), np.finfo(float).tiny)


def _as_floats(column: pa.Array) -> NDArray[np.float64]:
    """Count times in their own unit since their own beginning; what float64 rounds is allowed to be rounded."""
    if types.is_temporal(column.type):
        column = pc.cast(column, f"int{column.type.bit_width}")
    floats: NDArray[np.float64] = to_numpy(pc.cast(column, "float64", safe=False))
    return floats


def _column(contexts: pa.Table, name: str) -> pa.Array:
    if name not in contexts.column_names:
        raise no_such_column(name, contexts.column_names, where="The table of contexts")
    return plain_column(contexts[name])
