"""Named features of columns, once they are read: words, categories, numbers, times, embeddings, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.scoring.rows import SparseRows
from warmstart.scoring.settings import FeatureSettings, Scale

CONSTANT = "constant"
# Beside words of length 1, so that linear terms are there without drowning the crossed ones.
CONSTANT_VALUE = 0.3
NUMBER_SCALE, LARGEST_NUMBER = 0.3, 4.0
SECONDS_PER_DAY = 86_400.0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Values of named features in rows."""

    rows: NDArray[Any]
    codes: NDArray[Any]
    values: NDArray[Any]
    names: Sequence[str]
    is_words: bool


def counted_words(rows: NDArray[Any], codes: NDArray[Any], amounts: Floats, names: Sequence[str]) -> Part:
    """Count words. Every word is one feature of its row, however often it occurs; an empty one is none.

    Args:
        rows: of the words.
        codes: the place of each among ``names``; NaN for none.
        amounts: how often each occurs; a weight below 0 keeps its sign.
        names: the different words.
    """
    empty = np.array([not name for name in names], dtype=bool)
    usable = np.isfinite(codes) & np.isfinite(amounts)
    usable[usable] &= ~empty[codes[usable].astype(np.int64)]
    rows, codes, amounts = rows[usable], codes[usable].astype(np.int64), amounts[usable]
    unique, inverse = np.unique(rows * max(len(names), 1) + codes, return_inverse=True)
    counts = np.bincount(inverse, weights=amounts, minlength=len(unique))
    values = np.copysign(np.sqrt(np.abs(counts)), counts)
    return Part(*np.divmod(unique, max(len(names), 1)), values, names, is_words=True)


def words_of(part: Part, name: str, settings: FeatureSettings) -> Part:
    """Return the features of a column; its words, if those of several columns must be told apart, as its own.

    They are then named after the column, and have length 1 in every row: a title weighs as much as a long text.
    """
    if not (part.is_words and name in settings.named):
        return part
    size = int(part.rows.max(initial=-1)) + 1
    length = np.sqrt(np.bincount(part.rows, weights=part.values**2, minlength=size))
    values = part.values / np.maximum(length, 1e-12)[part.rows]
    # Ids have the column's name already.
    names = part.names if settings.kinds[name] == "ids" else [f"{name}={word}" for word in part.names]
    return Part(part.rows, part.codes, values, names, is_words=True)


def category_part(rows: NDArray[Any], codes: NDArray[Any], values: Sequence[Any], name: str) -> Part:
    """Return an indicator for every value of a category."""
    names = [f"{name}={value}" for value in values]
    return Part(rows, codes, np.full(len(rows), CONSTANT_VALUE), names, is_words=False)


def number_part(numbers: Floats, name: str, scale: Scale, size: float = NUMBER_SCALE) -> Part:
    """Return numbers less their mean, in spreads, infinite ones at the edge; ``size``: the value of one spread."""
    rows = np.flatnonzero(~np.isnan(numbers))
    mean, spread = scale
    # Halves, which are exact, of numbers whose difference may be beyond the largest.
    with np.errstate(over="ignore"):
        spreads = (numbers[rows] / 2 - mean / 2) / (spread / 2)
    values = np.clip(spreads, -LARGEST_NUMBER, LARGEST_NUMBER) * size
    return Part(rows, np.zeros(len(rows), dtype=np.int64), values, [name], is_words=False)


def time_parts(seconds: Floats, name: str, scale: Scale, *, clock: bool) -> Iterator[Part]:
    """Return the time as a number, weekday and month as categories and, with ``clock``, the hour on a circle."""
    yield number_part(seconds, name, scale)
    known = np.flatnonzero(np.isfinite(seconds))
    days = np.floor(seconds[known] / SECONDS_PER_DAY).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    # 1970 began on a Thursday; 0 is Monday.
    for what, codes, size in (("weekday", (days + 3) % 7, 7), ("month", months, 12)):
        present, place = np.unique(codes, return_inverse=True)
        yield category_part(known, place, [code + (size == 12) for code in present], f"{name} {what}")
    if clock:
        angle = seconds[known] / SECONDS_PER_DAY % 1 * 2 * np.pi
        for what, values in (("sine", np.sin(angle)), ("cosine", np.cos(angle))):
            # A sine has a spread of 1 / sqrt(2).
            zeros = np.zeros(len(known), dtype=np.int64)
            yield Part(known, zeros, values * np.sqrt(2) * NUMBER_SCALE, [f"{name} hour {what}"], is_words=False)


def embedding_parts(rows: NDArray[np.int64], vectors: Floats, name: str, scales: Sequence[Scale]) -> Iterator[Part]:
    """Return every dimension as a scaled number; many together have about the length of words, 1."""
    size = min(NUMBER_SCALE, 1 / np.sqrt(max(len(scales), 1)))
    for i, scale in enumerate(scales):
        part = number_part(vectors[:, i], f"{name}[{i}]", scale, size)
        yield Part(rows[part.rows], part.codes, part.values, part.names, is_words=False)


def missing_part(absent: NDArray[np.bool_], name: str) -> Part:
    """Return the feature of rows that have no value."""
    rows = np.flatnonzero(absent)
    named = [f"{name} is missing"]
    return Part(rows, np.zeros(len(rows), np.int64), np.full(len(rows), CONSTANT_VALUE), named, is_words=False)


def hashed_rows(parts: Sequence[Part], size: int, settings: FeatureSettings) -> tuple[SparseRows, int]:
    """Return the hashed features of rows, and the number of their names. The words of a row have length 1 together."""
    words = [part for part in parts if part.is_words]
    others = [part for part in parts if not part.is_words]
    if settings.constant:
        every, codes = np.arange(size), np.zeros(size, dtype=np.int64)
        others.append(Part(every, codes, np.full(size, CONSTANT_VALUE), (CONSTANT,), is_words=False))
    rows, hashed, values, names = _gather(words, settings.bits)
    length = np.sqrt(np.bincount(rows, weights=values**2, minlength=size))
    values = values / np.maximum(length, 1e-12)[rows]
    more = _gather(others, settings.bits)
    rows, hashed, values = (np.concatenate(pair) for pair in zip((rows, hashed, values), more[:3], strict=True))
    order = np.argsort(rows, kind="stable")
    return SparseRows.of(rows[order], hashed[order], values[order], size), names + more[3]


def buckets(names: Iterable[str], bits: int) -> NDArray[np.uint32]:
    """Hash names into 2^bits buckets, the same on every machine and in every run."""
    mask = (1 << bits) - 1
    digests = (blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names)
    return np.fromiter((int.from_bytes(digest, "little") & mask for digest in digests), dtype=np.uint32)


def _gather(parts: Sequence[Part], bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0), 0
    rows = np.concatenate([part.rows for part in parts])
    hashed = np.concatenate([buckets(part.names, bits)[part.codes] for part in parts])
    return rows, hashed, np.concatenate([part.values for part in parts]), sum(len(part.names) for part in parts)
