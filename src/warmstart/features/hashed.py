"""Hash a table of contexts or actions into sparse features: text, lists of words, categories, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import ColumnError, quoted, to_numpy
from warmstart.features.rows import FeatureRows

Kind = Literal["words", "weighted words", "text", "category", "number"]
CONSTANT = "constant"
# Beside words of length 1, so that linear terms are there without drowning the crossed ones.
CONSTANT_VALUE = 0.3
NUMBER_SCALE, LARGEST_NUMBER = 0.3, 4.0
TOKEN = r"[^\pL\pN]+"  # noqa: S105  between tokens


@dataclass(frozen=True)
class FeatureSettings:
    """How a table of contexts or actions becomes features (the hashing trick).

    ``kinds``: the columns in use and what they are; ``weights``: for a list of words, the list of their weights;
    ``scales``: mean and spread of number columns; ``bits``: 2^bits buckets; ``constant``: whether there is one.
    """

    bits: int
    constant: bool = True
    kinds: dict[str, Kind] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of_table(cls, table: pa.Table, keys: Sequence[str], *, bits: int, cross_only: bool) -> FeatureSettings:
        """Infer the kind of each column from its type. Text beside lists of words is left out: it says the same."""
        import pyarrow.compute as pc

        columns = {name: table.schema.field(name).type for name in table.column_names if name not in keys}
        kinds: dict[str, Kind] = {}
        weights: dict[str, str] = {}
        lists = {name: kind for name, kind in columns.items() if types.is_list(kind) or types.is_large_list(kind)}
        texts = [name for name, kind in lists.items() if _is_text(kind.value_type)]
        numbers = [name for name, kind in lists.items() if not _is_text(kind.value_type)]
        for name in texts:
            lengths = pc.list_value_length(table[name])
            twin = next((n for n in numbers if pc.list_value_length(table[n]).equals(lengths)), None)
            kinds[name] = "words" if twin is None else "weighted words"
            if twin is not None:
                numbers.remove(twin)
                weights[name] = twin
        for name, kind in columns.items():
            if types.is_boolean(kind) or types.is_dictionary(kind):
                kinds[name] = "category"
            elif _is_text(kind) and not texts:
                kinds[name] = "text"
            elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
                kinds[name] = "number"
        scales = {name: _scale(table[name]) for name, kind in kinds.items() if kind == "number"}
        left = tuple(n for n in columns if n not in kinds and n not in weights.values())
        return cls(bits, not cross_only, kinds, weights, scales, left)


def feature_rows(table: pa.Table | None, size: int, settings: FeatureSettings) -> FeatureRows:
    """Return the hashed features of a table's rows; without a table, rows of the constant alone.

    A null is no feature. The words of a row have length 1 together.
    """
    parts = [] if table is None else [part for name in settings.kinds for part in _column(table, name, settings)]
    words = [part for part in parts if part.is_words]
    others = [part for part in parts if not part.is_words]
    if settings.constant:
        every, codes = np.arange(size), np.zeros(size, dtype=np.int64)
        others.append(_Part(every, codes, np.full(size, CONSTANT_VALUE), (CONSTANT,), is_words=False))
    rows, hashed, values, names = _gather(words, settings.bits)
    length = np.sqrt(np.bincount(rows, weights=values**2, minlength=size))
    values = values / np.maximum(length, 1e-12)[rows]
    more = _gather(others, settings.bits)
    rows, hashed, values = (np.concatenate(pair) for pair in zip((rows, hashed, values), more[:3], strict=True))
    order = np.argsort(rows, kind="stable")
    return FeatureRows.of(rows[order], hashed[order], values[order], size, names=names + more[3])


def buckets(names: Iterable[str], bits: int) -> NDArray[np.uint32]:
    """Hash names into 2^bits buckets, the same on every machine and in every run."""
    mask = (1 << bits) - 1
    digests = (blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names)
    return np.fromiter((int.from_bytes(digest, "little") & mask for digest in digests), dtype=np.uint32)


@dataclass(frozen=True)
class _Part:
    """Values of named features in rows."""

    rows: NDArray[Any]
    codes: NDArray[Any]
    values: NDArray[Any]
    names: Sequence[str]
    is_words: bool


def _column(table: pa.Table, name: str, settings: FeatureSettings) -> Iterator[_Part]:
    if name not in table.column_names:
        raise ColumnError(f"The table has no column {quoted(name)}, which the model has learned from.")
    column = table[name].combine_chunks()
    kind = settings.kinds[name]
    if kind in ("words", "weighted words"):
        weights = table[settings.weights[name]].combine_chunks() if kind == "weighted words" else None
        yield _words(column, weights)
    elif kind == "text":
        import pyarrow.compute as pc

        yield _words(pc.split_pattern_regex(pc.utf8_lower(column.cast("string")), TOKEN), None)
    elif kind == "category":
        yield _categories(column, name)
    else:
        yield _numbers(column, name, settings.scales[name])


def _words(column: pa.Array, weights: pa.Array | None) -> _Part:
    """Count the words of lists. Every word is one feature of its row, however often it occurs."""
    import pyarrow.compute as pc

    rows = to_numpy(pc.list_parent_indices(column))
    encoded = pc.list_flatten(column).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = to_numpy(encoded.indices).astype(np.float64)
    amount = np.ones(len(rows)) if weights is None else to_numpy(pc.list_flatten(weights))
    empty = np.array([not name for name in names], dtype=bool)
    usable = np.isfinite(codes) & np.isfinite(amount)
    usable[usable] &= ~empty[codes[usable].astype(np.int64)]
    rows, codes, amount = rows[usable], codes[usable].astype(np.int64), amount[usable]
    unique, inverse = np.unique(rows * max(len(names), 1) + codes, return_inverse=True)
    counts = np.bincount(inverse, weights=amount, minlength=len(unique))
    return _Part(*np.divmod(unique, max(len(names), 1)), np.sqrt(np.abs(counts)), names, is_words=True)


def _categories(column: pa.Array, name: str) -> _Part:
    encoded = column.dictionary_encode()
    codes = to_numpy(encoded.indices).astype(np.float64)
    rows = np.flatnonzero(np.isfinite(codes))
    names = [f"{name}={value}" for value in encoded.dictionary.to_pylist()]
    return _Part(rows, codes[rows].astype(np.int64), np.full(len(rows), CONSTANT_VALUE), names, is_words=False)


def _numbers(column: pa.Array, name: str, scale: tuple[float, float]) -> _Part:
    numbers = to_numpy(column.cast("float64"))
    rows = np.flatnonzero(np.isfinite(numbers))
    mean, spread = scale
    values = np.clip((numbers[rows] - mean) / spread, -LARGEST_NUMBER, LARGEST_NUMBER) * NUMBER_SCALE
    return _Part(rows, np.zeros(len(rows), dtype=np.int64), values, [name], is_words=False)


def _gather(parts: Sequence[_Part], bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0), 0
    rows = np.concatenate([part.rows for part in parts])
    hashed = np.concatenate([buckets(part.names, bits)[part.codes] for part in parts])
    return rows, hashed, np.concatenate([part.values for part in parts]), sum(len(part.names) for part in parts)


def _scale(column: pa.ChunkedArray) -> tuple[float, float]:
    numbers = to_numpy(column.cast("float64"))
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.mean()), float(numbers.std()) or 1.0) if len(numbers) else (0.0, 1.0)


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(value) or types.is_large_string(value) or types.is_string_view(value))
