"""Named features of one column of Arrow: words, ids, texts, categories, numbers, times, embeddings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import ColumnError, counted, quoted, to_numpy
from warmstart.scoring import Part, Scale, category_part, counted_words

TOKEN = r"[^\pL\pN]+"  # noqa: S105  between tokens
Floats = NDArray[np.float64]
LARGE = 1e140


def word_parts(column: pa.Array, weights: pa.Array | None) -> Iterator[Part]:
    """Count the words of lists. Every word is one feature of its row, however often it occurs."""
    import pyarrow.compute as pc

    rows = to_numpy(pc.list_parent_indices(column))
    encoded = pc.list_flatten(column).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = to_numpy(encoded.indices).astype(np.float64)
    amount = np.ones(len(rows)) if weights is None else to_numpy(pc.list_flatten(weights).cast("float64"))
    yield counted_words(rows, codes, amount, names)


def id_parts(column: pa.Array, name: str) -> Iterator[Part]:
    """Count the integers of lists as words of their own column: ``NAME=17``."""
    for part in word_parts(column.cast(pa.list_(pa.string())), None):
        named = [f"{name}={value}" for value in part.names]
        yield Part(part.rows, part.codes, part.values, named, is_words=True)


def text_parts(column: pa.Array) -> Iterator[Part]:
    """Count the tokens of texts, in lower case."""
    import pyarrow.compute as pc

    return word_parts(pc.split_pattern_regex(pc.utf8_lower(column.cast("string")), TOKEN), None)


def category_parts(column: pa.Array, name: str) -> Iterator[Part]:
    """Return an indicator for every value."""
    encoded = column.dictionary_encode()
    codes = to_numpy(encoded.indices).astype(np.float64)
    rows = np.flatnonzero(np.isfinite(codes))
    yield category_part(rows, codes[rows].astype(np.int64), encoded.dictionary.to_pylist(), name)


def absent_of(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell which entries are null or NaN."""
    absent: NDArray[np.bool_] = to_numpy(column.is_null(nan_is_null=True)).astype(bool)
    return absent


def infinite_of(column: pa.Array) -> NDArray[np.bool_]:
    """Tell which entries are infinite, or lists with an infinite number; none of other types than floats."""
    import pyarrow.compute as pc

    is_list = types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type)
    if not types.is_floating(column.type.value_type if is_list else column.type):
        return np.zeros(len(column), dtype=bool)
    infinite: NDArray[np.bool_] = np.isinf(to_numpy((pc.list_flatten(column) if is_list else column).cast("float64")))
    if not is_list:
        return infinite
    rows = to_numpy(pc.list_parent_indices(column))[infinite]
    return np.isin(np.arange(len(column)), rows)


def numbers_of(column: pa.Array | pa.ChunkedArray, name: str) -> Floats:
    """Return numbers, durations and times (in seconds, of UTC if they have a zone) as floats; NaN for nulls."""
    kind = column.type
    try:
        if types.is_duration(kind):
            return _seconds(column.cast(pa.duration("us"), safe=False))
        if types.is_temporal(kind):
            return _seconds(column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False))
        return to_numpy(column.cast("float64")).astype(np.float64, copy=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnError(f"Column {quoted(name)} of type {kind} cannot be read as numbers or times.") from error


def times_of(column: pa.Array | pa.ChunkedArray, name: str) -> Floats:
    """Return times in seconds; texts and nulls are read as times."""
    if types.is_temporal(column.type):
        return numbers_of(column, name)
    try:
        return _seconds(column.cast(pa.timestamp("us")))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnError(f"Column {quoted(name)} of type {column.type} cannot be read as times.") from error


def vectors_of(column: pa.Array, name: str, dimensions: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows that have a list, and the lists as a matrix."""
    import pyarrow.compute as pc

    if types.is_null(column.type):
        return np.zeros(0, np.int64), np.zeros((0, dimensions))
    lengths = to_numpy(pc.list_value_length(column), null=-1)
    rows = np.flatnonzero(lengths >= 0)
    if wrong := int((lengths[rows] != dimensions).sum()):
        others = counted(wrong, "list")
        raise ColumnError(f"Column {quoted(name)} has {others} of another length than {dimensions:,}, as in training.")
    flat = numbers_of(pc.list_flatten(column), name)
    return rows, flat.reshape(len(rows), dimensions)


def scale_of(numbers: Floats) -> Scale:
    """Return the mean and the spread of finite numbers."""
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return (0.0, 1.0)
    # Sums of squares of larger numbers are beyond the largest.
    largest = float(np.abs(numbers).max())
    unit = largest if largest > LARGE else 1.0
    numbers = numbers / unit
    return float(numbers.mean()) * unit, float(numbers.std()) * unit or 1.0


def _seconds(column: pa.Array | pa.ChunkedArray) -> Floats:
    seconds: Floats = to_numpy(column.cast("int64").cast("float64", safe=False)).astype(np.float64) / 1e6
    return seconds
