"""Known actions between Arrow and the arrays of a saved policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import first_lines, to_arrow, to_numpy
from warmstart.features import plain_column
from warmstart.scoring import BYTES, NUMBERS, STARTS, SavedKeys, damaged, is_text, number_dtype


def key_type(actions: pa.Array) -> str:
    """Return the type of actions, as it is saved."""
    return str(plain_column(actions).type)


def arrays_of_actions(actions: pa.Array) -> dict[str, NDArray[Any]]:
    """Return the arrays of actions to save, by their file; none for a type that is none of keys."""
    plain = plain_column(actions)
    kind = plain.type
    if plain.null_count:
        raise damaged("the actions", "action must not be null")
    if types.is_decimal(kind):
        plain = pa.array([format(value, "f") for value in plain.to_pylist() if value is not None], pa.string())
    if is_text(str(kind)):
        joined = plain.cast(pa.large_binary())
        _, starts, text = joined.buffers()
        offsets = np.frombuffer(starts, np.int64)[joined.offset : joined.offset + len(joined) + 1]
        data = np.frombuffer(text, np.uint8)[offsets[0] : offsets[-1]] if text is not None else np.zeros(0, np.uint8)
        return {BYTES: data, STARTS: offsets - offsets[0]}
    dtype = number_dtype(str(kind))
    if dtype is None:
        return {}
    if not types.is_boolean(kind):
        plain = plain.view(pa.from_numpy_dtype(np.dtype(dtype)))
    return {NUMBERS: to_numpy(plain).astype(dtype)}


def arrow_of_actions(keys: SavedKeys, kind: pa.DataType) -> pa.Array:
    """Return the actions that a policy knows as a column of their type."""
    try:
        if keys.numbers is None:
            joined = pa.Array.from_buffers(
                pa.large_binary(), len(keys), [None, pa.py_buffer(keys.starts), pa.py_buffer(keys.text)]
            )
            text = joined if types.is_large_binary(kind) or types.is_binary(kind) else joined.cast(pa.large_string())
            actions = text.cast(kind)
        elif types.is_boolean(kind):
            actions = to_arrow(keys.numbers.astype(bool))
        else:
            actions = pa.Array.from_buffers(kind, len(keys), [None, pa.py_buffer(keys.numbers)])
        actions.validate(full=True)
    except (ValueError, pa.ArrowException) as error:
        file = BYTES if keys.numbers is None else NUMBERS
        raise damaged(file, f"the actions cannot be read ({first_lines(error)})") from error
    return actions
