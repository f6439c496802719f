"""Arrow arrays from Python lists by way of buffers: quicker, and without pandas, which ``pa.array`` imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


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
    whole = not pa.types.is_floating(kind)
    given: Any = [0 if value is None else value for value in values] if nulls else values
    numbers = np.array(given, dtype=np.int64 if whole else np.float64)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(numbers)], null_count=nulls)


def float_array(values: NDArray[np.float64]) -> pa.Array:
    """Return an array of NumPy's as one of Arrow's."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def list_array(lengths: Sequence[int], values: pa.Array, present: Sequence[Any] | None = None) -> pa.Array:
    """Return lists of so many of the values each; null where ``present`` is None."""
    import pyarrow as pa

    bits, nulls = (None, 0) if present is None else _validity(present)
    starts = _starts(np.fromiter(lengths, np.int64, len(lengths)))
    buffers = [bits, pa.py_buffer(starts)]
    return pa.Array.from_buffers(pa.list_(values.type), len(lengths), buffers, null_count=nulls, children=[values])


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
