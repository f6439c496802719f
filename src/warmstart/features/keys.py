"""Encode keys (contexts, actions) as consecutive numbers, as categorical codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import to_arrow, to_numpy, without_minus_zero


@dataclass(frozen=True, eq=False)
class KeyEncoder:
    """Distinct keys of one or several columns, in ascending order; the position of a key is its number.

    ``distinct``: the sorted values of every column. ``combined``: after each column but the first, the codes
    ``number of the columns before * distinct values + number in this column`` that occur, ascending: positions stay
    small, so that many columns do not overflow.
    """

    names: tuple[str, ...]
    distinct: tuple[pa.Array, ...]
    combined: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, rows: pa.Table | pa.Array | pa.ChunkedArray) -> Self:
        """Collect the distinct rows of a table, or the distinct values of a column.

        >>> import pyarrow as pa
        >>> encoder = KeyEncoder.of(pa.array(["b", "a", "b"]))
        >>> encoder.values.to_pylist(), encoder.numbers(pa.array(["b", "c"])).tolist()
        (['a', 'b'], [1, -1])
        """
        names, columns = _columns(rows)
        distinct = tuple(column.unique().sort() for column in columns)
        if len(columns) == 1:
            return cls(names, distinct, ())
        numbers, combined = positions(columns[0], distinct[0]), []
        for column, known in zip(columns[1:], distinct[1:], strict=True):
            codes = numbers * len(known) + positions(column, known)
            encoded = to_arrow(codes).dictionary_encode()
            occurring = to_numpy(encoded.dictionary)
            order = np.argsort(occurring)
            combined.append(occurring[order])
            numbers = np.argsort(order)[to_numpy(encoded.indices)]
        return cls(names, distinct, tuple(combined))

    def __len__(self) -> int:
        return len(self.combined[-1] if self.combined else self.distinct[0])

    def numbers(self, rows: pa.Table | pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Return the numbers of rows, or of the values of a column; -1 for an unknown key."""
        _, columns = _columns(rows, self.names)
        numbers = positions(columns[0], self.distinct[0])
        for column, distinct, combined in zip(columns[1:], self.distinct[1:], self.combined, strict=True):
            added = positions(column, distinct)
            codes = np.where((numbers < 0) | (added < 0), -1, numbers * len(distinct) + added)
            place = np.minimum(np.searchsorted(combined, codes), max(len(combined) - 1, 0))
            numbers = np.where(combined[place] == codes, place, -1) if len(combined) else np.full(len(codes), -1)
        return numbers

    @cached_property
    def keys(self) -> pa.Table:
        """Return the keys in the order of their numbers."""
        numbers, columns = np.arange(len(self)), []
        for distinct, combined in zip(self.distinct[:0:-1], self.combined[::-1], strict=True):
            numbers, added = np.divmod(combined[numbers], max(len(distinct), 1))
            columns.append(distinct.take(to_arrow(added)))
        columns.append(self.distinct[0].take(to_arrow(numbers)))
        return pa.table(columns[::-1], names=list(self.names))

    @property
    def values(self) -> pa.Array:
        """Return the keys of a single column, in the order of their numbers."""
        (values,) = self.distinct
        return values


def plain_column(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one chunk, without dictionary, string views or -0.0, which few functions of Arrow know."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    decoded = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
    return without_minus_zero(decoded.cast("string") if pa.types.is_string_view(decoded.type) else decoded)


def positions(column: pa.Array, values: pa.Array) -> NDArray[np.int64]:
    """Return the position of every entry in a list of values; -1 for one that is not among them."""
    import pyarrow.compute as pc

    # -0.0 again: a cast to another type may make one.
    cast = column if column.type == values.type else without_minus_zero(pc.cast(column, values.type))
    result: NDArray[np.int64] = to_numpy(pc.index_in(cast, value_set=values), null=-1).astype(np.int64)
    return result


def _columns(rows: Any, names: tuple[str, ...] | None = None) -> tuple[tuple[str, ...], list[pa.Array]]:
    if not isinstance(rows, pa.Table):
        return names or ("key",), [plain_column(rows)]
    names = names or tuple(rows.column_names)
    return names, [plain_column(rows[name]) for name in names]
