"""Between Arrow, NumPy and lists by way of buffers: quicker than Arrow's own ways, and these import pandas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def to_numpy(column: pa.Array | pa.ChunkedArray, *, null: float = math.nan) -> NDArray[Any]:
    """Return a column of numbers (decimals as floats) or truths, not to be written to, with ``null`` for nulls.

    >>> import pyarrow as pa
    >>> to_numpy(pa.chunked_array([[1, 2], [3, None]])).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    import pyarrow as pa

    # pyarrow.compute, which takes a while to import, only where something has to be cast or looked for.
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_decimal(whole.type):
        whole = whole.cast(pa.float64())
    if pa.types.is_boolean(whole.type):
        return to_numpy(whole.cast(pa.int8()), null=null) if whole.null_count else _truths(whole)
    if not whole.null_count:
        return np.from_dlpack(whole)
    values = pa.Array.from_buffers(whole.type, len(whole), [None, whole.buffers()[1]], offset=whole.offset)
    return np.where(_truths(whole.is_null()), null, np.from_dlpack(values))


def without_minus_zero(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column whose zeros are all the same: engines take -0.0 for 0.0, and Arrow does not.

    >>> import pyarrow as pa
    >>> without_minus_zero(pa.array([-0.0, 1.0, None])).to_pylist()
    [0.0, 1.0, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type not in (pa.float32(), pa.float64()):
        return column
    return pc.add(column, to_arrow(np.zeros(1))[0].cast(column.type))


def to_arrow(values: NDArray[Any], known: NDArray[Any] | None = None) -> pa.Array:
    """Return an array of numbers or truths, null where it is not known; what it shares with NumPy must not change.

    >>> import numpy as np
    >>> to_arrow(np.array([1, 2]), np.array([True, False])).to_pylist()
    [1, None]
    """
    import pyarrow as pa

    whole = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    bits = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, pa.py_buffer(whole)])


def text_array(values: Sequence[str | None]) -> pa.Array:
    """Return text, with nulls for None.

    >>> text_array(["a", None, "é"]).to_pylist()
    ['a', None, 'é']
    """
    import pyarrow as pa

    bits, nulls = _validity(values)
    plain: Sequence[str] = [value or "" for value in values] if nulls else values  # type: ignore[assignment]
    joined = "".join(plain)
    parts: Sequence[str | bytes] = plain if joined.isascii() else [text.encode() for text in plain]
    starts = _starts(np.fromiter(map(len, parts), np.int64, len(parts)))
    buffers = [bits, pa.py_buffer(starts), pa.py_buffer(joined.encode())]
    return pa.Array.from_buffers(pa.string(), len(values), buffers, null_count=nulls)


def number_array(values: Sequence[float | None], kind: pa.DataType) -> pa.Array:
    """Return numbers of a type of eight bytes, with nulls for None."""
    import pyarrow as pa

    bits, nulls = _validity(values)
    given: Any = [0 if value is None else value for value in values] if nulls else values
    numbers = np.array(given, dtype=np.float64 if pa.types.is_floating(kind) else np.int64)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(numbers)], null_count=nulls)


def list_array(lengths: Sequence[int], values: pa.Array, present: Sequence[Any] | None = None) -> pa.Array:
    """Return lists of so many of the values each; null where ``present`` is None."""
    import pyarrow as pa

    bits, nulls = (None, 0) if present is None else _validity(present)
    buffers = [bits, pa.py_buffer(_starts(np.fromiter(lengths, np.int64, len(lengths))))]
    return pa.Array.from_buffers(pa.list_(values.type), len(lengths), buffers, null_count=nulls, children=[values])


def with_given_names(batch: pa.RecordBatch, given: Mapping[str, str], *, time: str) -> pa.Table:
    """Return the columns that ``given`` maps to the user's names, under these; epoch microseconds as timestamps."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch]).select(list(given))
    if time in given:
        moments = table[time].cast(pa.timestamp("us", "UTC"))
        table = table.set_column(table.column_names.index(time), time, moments)
    return table.rename_columns(list(given.values()))


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    if lengths.sum() > np.iinfo(np.int32).max:
        raise DataError("More than 2 GB of text would stand in one batch.", "Are there lines of many megabytes?")
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _validity(values: Sequence[Any]) -> tuple[pa.Buffer | None, int]:
    """Return the bitmap of what is not None, and how many are None."""
    import pyarrow as pa

    if None not in values:
        return None, 0
    there = np.fromiter((value is not None for value in values), bool, len(values))
    return pa.py_buffer(np.packbits(there, bitorder="little")), int((~there).sum())


def _truths(column: pa.Array) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.from_dlpack(pc.cast(column, pa.uint8())).view(bool)
