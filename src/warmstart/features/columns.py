"""Named features of one column: words, ids, categories, numbers, times, embeddings, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import ColumnError, counted, quoted, to_numpy

Kind = Literal["words", "weighted words", "ids", "text", "category", "number", "date", "timestamp", "embedding"]
# Beside words of length 1, so that linear terms are there without drowning the crossed ones.
CONSTANT_VALUE = 0.3
NUMBER_SCALE, LARGEST_NUMBER = 0.3, 4.0
TOKEN = r"[^\pL\pN]+"  # noqa: S105  between tokens
SECONDS_PER_DAY = 86_400.0
Floats = NDArray[np.float64]
Scale = tuple[float, float]


@dataclass(frozen=True)
class Part:
    """Values of named features in rows."""

    rows: NDArray[Any]
    codes: NDArray[Any]
    values: NDArray[Any]
    names: Sequence[str]
    is_words: bool


def word_parts(column: pa.Array, weights: pa.Array | None) -> Iterator[Part]:
    """Count the words of lists. Every word is one feature of its row, however often it occurs."""
    import pyarrow.compute as pc

    rows = to_numpy(pc.list_parent_indices(column))
    encoded = pc.list_flatten(column).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = to_numpy(encoded.indices).astype(np.float64)
    amount = np.ones(len(rows)) if weights is None else to_numpy(pc.list_flatten(weights).cast("float64"))
    empty = np.array([not name for name in names], dtype=bool)
    usable = np.isfinite(codes) & np.isfinite(amount)
    usable[usable] &= ~empty[codes[usable].astype(np.int64)]
    rows, codes, amount = rows[usable], codes[usable].astype(np.int64), amount[usable]
    unique, inverse = np.unique(rows * max(len(names), 1) + codes, return_inverse=True)
    counts = np.bincount(inverse, weights=amount, minlength=len(unique))
    yield Part(*np.divmod(unique, max(len(names), 1)), np.sqrt(np.abs(counts)), names, is_words=True)


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
    names = [f"{name}={value}" for value in encoded.dictionary.to_pylist()]
    yield Part(rows, codes[rows].astype(np.int64), np.full(len(rows), CONSTANT_VALUE), names, is_words=False)


def number_parts(numbers: Floats, name: str, scale: Scale, size: float = NUMBER_SCALE) -> Iterator[Part]:
    """Return numbers less their mean, in spreads; ``size``: the value of one spread."""
    rows = np.flatnonzero(np.isfinite(numbers))
    mean, spread = scale
    values = np.clip((numbers[rows] - mean) / spread, -LARGEST_NUMBER, LARGEST_NUMBER) * size
    yield Part(rows, np.zeros(len(rows), dtype=np.int64), values, [name], is_words=False)


def time_parts(seconds: Floats, name: str, scale: Scale, *, clock: bool) -> Iterator[Part]:
    """Return the time as a number, weekday and month as categories and, with ``clock``, the hour on a circle."""
    yield from number_parts(seconds, name, scale)
    known = np.flatnonzero(np.isfinite(seconds))
    days = np.floor(seconds[known] / SECONDS_PER_DAY).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    # 1970 began on a Thursday; 0 is Monday.
    for what, codes, size in (("weekday", (days + 3) % 7, 7), ("month", months, 12)):
        present, place = np.unique(codes, return_inverse=True)
        names = [f"{name} {what}={code + (size == 12)}" for code in present]
        yield Part(known, place, np.full(len(known), CONSTANT_VALUE), names, is_words=False)
    if clock:
        angle = seconds[known] / SECONDS_PER_DAY % 1 * 2 * np.pi
        for what, values in (("sine", np.sin(angle)), ("cosine", np.cos(angle))):
            # A sine has a spread of 1 / sqrt(2).
            zeros = np.zeros(len(known), dtype=np.int64)
            yield Part(known, zeros, values * np.sqrt(2) * NUMBER_SCALE, [f"{name} hour {what}"], is_words=False)


def embedding_parts(column: pa.Array, name: str, scales: Sequence[Scale]) -> Iterator[Part]:
    """Return every dimension as a scaled number; many together have about the length of words, 1."""
    rows, vectors = vectors_of(column, name, len(scales))
    size = min(NUMBER_SCALE, 1 / np.sqrt(max(len(scales), 1)))
    for i, scale in enumerate(scales):
        for part in number_parts(vectors[:, i], f"{name}[{i}]", scale, size):
            yield Part(rows[part.rows], part.codes, part.values, part.names, is_words=False)


def missing_part(absent: NDArray[np.bool_], name: str) -> Part:
    """Return the feature of rows that have no value."""
    rows = np.flatnonzero(absent)
    named = [f"{name} is missing"]
    return Part(rows, np.zeros(len(rows), np.int64), np.full(len(rows), CONSTANT_VALUE), named, is_words=False)


def absent_of(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell which entries are null or NaN."""
    absent: NDArray[np.bool_] = to_numpy(column.is_null(nan_is_null=True)).astype(bool)
    return absent


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
    return (float(numbers.mean()), float(numbers.std()) or 1.0) if len(numbers) else (0.0, 1.0)


def _seconds(column: pa.Array | pa.ChunkedArray) -> Floats:
    seconds: Floats = to_numpy(column.cast("int64").cast("float64", safe=False)).astype(np.float64) / 1e6
    return seconds
