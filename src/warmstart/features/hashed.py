"""Hash a table of contexts or actions into sparse features: what its columns are, and the buckets of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import ColumnError, quoted, to_arrow, to_numpy
from warmstart.features.columns import (
    absent_of,
    category_parts,
    id_parts,
    numbers_of,
    scale_of,
    text_parts,
    times_of,
    vectors_of,
    word_parts,
)
from warmstart.features.rows import FeatureRows
from warmstart.scoring import (
    KINDS_OF_WORDS,
    FeatureSettings,
    Kind,
    Part,
    Scale,
    embedding_parts,
    hashed_rows,
    missing_part,
    number_part,
    time_parts,
    words_of,
)

MAY_BE_MISSING = ("text", "category", "number", "date", "timestamp")
Bits = int | tuple[int, int]
# A text is compared with lists of words, and features are counted, in so many rows, by hashes of so many bits.
ROWS_TO_COMPARE, ROWS_TO_COUNT, BITS = 1_000, 50_000, 22
_INDEX = re.compile(r"__index_level_\d+__")
_RANGE_NAMES = ("index", "level_0", "Unnamed: 0", "column0")


def settings_of_table(table: pa.Table, keys: Sequence[str], *, bits: Bits, cross_only: bool) -> FeatureSettings:
    """Infer the kind of each column from its type.

    A text that repeats a list of words is left out, and so is an index of pandas. Whether a missing value is a feature
    depends on whether the table has gaps; words have their column's name where several columns have words. ``bits``: or
    the least and the most, between which the features decide.
    """
    given = [name for name in table.column_names if name not in keys]
    columns = {name: table.schema.field(name).type for name in given if not _is_index(table, name)}
    kinds, weights = _kinds(table, columns)
    scales = {part: scale for name, kind in kinds.items() for part, scale in _scales(table, name, kind).items()}
    missing = tuple(name for name, kind in kinds.items() if kind in MAY_BE_MISSING and _has_gaps(table[name]))
    left = tuple(n for n in given if n not in kinds and n not in weights.values())
    words = tuple(name for name, kind in kinds.items() if kind in KINDS_OF_WORDS)
    named = words if len(words) > 1 else ()
    result = FeatureSettings(least_of(bits), not cross_only, kinds, weights, scales, left, missing, named)
    return result if isinstance(bits, int) else replace(result, bits=_bits_for(table, result, *bits))


def least_of(bits: Bits) -> int:
    """Return the bits, or the least of them."""
    return bits if isinstance(bits, int) else bits[0]


def _bits_for(table: pa.Table, settings: FeatureSettings, least: int, most: int) -> int:
    """Return the bits of twice as many buckets as there are categories and words.

    Counted are as many as would have the same entropy if all were equally frequent: rare ones hardly matter
    (docs/decisions/0005-learning.md).
    """
    few = table.take(to_arrow(np.arange(0, table.num_rows, -(-table.num_rows // ROWS_TO_COUNT) or 1)))
    evenly = 0.0
    for name in (name for name, kind in settings.kinds.items() if kind == "category" or kind in KINDS_OF_WORDS):
        rows = feature_rows(few, few.num_rows, replace(settings.of(name), bits=BITS))
        amounts = np.bincount(rows.buckets, weights=rows.values.astype(np.float64) ** 2)
        shares = amounts[amounts > 0] / max(amounts.sum(), 1e-12)
        evenly += float(np.exp(-(shares @ np.log(shares)))) if len(shares) else 0.0
    return int(np.clip(np.ceil(np.log2(max(2 * evenly, 1.0))), least, most))


def feature_rows(table: pa.Table | None, size: int, settings: FeatureSettings) -> FeatureRows:
    """Return the hashed features of a table's rows; without a table, rows of the constant alone.

    A gap is a feature of its own where the training table had gaps in the column, and else none.
    The words of a row have length 1 together.
    """
    names = () if table is None else settings.kinds
    parts = [words_of(part, name, settings) for name in names for part in _parts(table, name, settings)]
    return FeatureRows.counted(*hashed_rows(parts, size, settings))


def _parts(table: pa.Table, name: str, settings: FeatureSettings) -> Iterator[Part]:
    if name not in table.column_names:
        raise ColumnError(f"The table has no column {quoted(name)}, which the model has learned from.")
    column, kind = table[name].combine_chunks(), settings.kinds[name]
    if name in settings.missing:
        yield missing_part(absent_of(column), name)
    if types.is_null(column.type):
        return
    if kind in ("words", "weighted words"):
        weights = table[settings.weights[name]].combine_chunks() if kind == "weighted words" else None
        yield from word_parts(column, weights)
    elif kind == "ids":
        yield from id_parts(column, name)
    elif kind == "text":
        yield from text_parts(column)
    elif kind == "category":
        yield from category_parts(column, name)
    elif kind == "embedding":
        dimensions = settings.dimensions(name)
        yield from embedding_parts(*vectors_of(column, name, len(dimensions)), name, dimensions)
    elif kind == "number":
        yield number_part(numbers_of(column, name), name, settings.scales[name])
    else:
        yield from time_parts(times_of(column, name), name, settings.scales[name], clock=kind == "timestamp")


def _kinds(table: pa.Table, columns: Mapping[str, pa.DataType]) -> tuple[dict[str, Kind], dict[str, str]]:
    """Return the kinds of columns, lists of words first, and the columns of their weights."""
    import pyarrow.compute as pc

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
        if name in numbers or types.is_fixed_size_list(kind):
            result = _kind_of_list(table[name])
        else:
            result = _kind_of_plain(kind)
        if result == "text":
            lists_of_words = FeatureSettings(BITS, kinds={each: kinds[each] for each in texts}, weights=weights)
            result = None if any(_repeats(table, name, each, lists_of_words) for each in texts) else result
        if result is not None and name not in kinds:
            kinds[name] = result
    return kinds, weights


def _repeats(table: pa.Table, text: str, words: str, settings: FeatureSettings) -> bool:
    """Tell whether a text has the words of a list, as often: by the first rows."""
    few = table.slice(0, ROWS_TO_COMPARE)
    written = FeatureSettings(settings.bits, constant=False, kinds={text: "text"})
    both = (feature_rows(few, few.num_rows, each) for each in (written, settings.of(words)))
    (starts, buckets, values), other = (_in_order(rows) for rows in both)
    same = np.array_equal(starts, other[0]) and np.array_equal(buckets, other[1])
    return len(values) > 0 and same and np.allclose(values, other[2])


def _in_order(rows: FeatureRows) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
    """Return starts, and buckets and values in the order of buckets in every row."""
    starts, buckets, values = rows.arrays
    order = np.lexsort((buckets, np.repeat(np.arange(len(rows)), np.diff(starts))))
    return starts, buckets[order], values[order]


def _kind_of_plain(kind: pa.DataType) -> Kind | None:
    if types.is_boolean(kind) or types.is_dictionary(kind):
        return "category"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind):
        return "number"
    if _is_text(kind):
        return "text"
    if types.is_timestamp(kind):
        return "timestamp"
    return "date" if types.is_date(kind) else None


def _kind_of_list(column: pa.ChunkedArray) -> Kind | None:
    """Return what a list of numbers is: integers are ids; others, or of fixed size, an embedding if of one length."""
    import pyarrow.compute as pc

    value, fixed = column.type.value_type, types.is_fixed_size_list(column.type)
    if types.is_integer(value) and not fixed:
        return "ids"
    lengths = pc.unique(pc.drop_null(pc.list_value_length(column))).to_pylist()
    is_number = types.is_floating(value) or types.is_integer(value)
    return "embedding" if is_number and len(lengths) == 1 and lengths[0] > 0 else None


def _scales(table: pa.Table, name: str, kind: Kind) -> dict[str, Scale]:
    import pyarrow.compute as pc

    column = table[name].combine_chunks()
    if kind in ("number", "date", "timestamp"):
        return {name: scale_of(numbers_of(column, name))}
    if kind != "embedding":
        return {}
    dimensions = pc.max(pc.list_value_length(column)).as_py()
    vectors = vectors_of(column, name, dimensions)[1]
    return {f"{name}[{i}]": scale_of(vectors[:, i]) for i in range(dimensions)}


def _has_gaps(column: pa.ChunkedArray) -> bool:
    absent = absent_of(column)
    return bool(absent.any() and not absent.all())


def _is_index(table: pa.Table, name: str) -> bool:
    """Tell whether a column is an index of pandas: by its name, or 0, 1, 2, ... under a name that pandas gives."""
    if _INDEX.fullmatch(name):
        return True
    if name not in _RANGE_NAMES or not types.is_integer(table.schema.field(name).type):
        return False
    column = table[name]
    return not column.null_count and np.array_equal(to_numpy(column), np.arange(len(column)))


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(value) or types.is_large_string(value) or types.is_string_view(value))
