"""Keys, of actions above all, between Arrow and the arrays of a saved policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import first_lines, to_arrow, to_numpy
from warmstart.features import plain_column
from warmstart.scoring import SavedKeys, damaged, is_text, key_arrays, number_dtype


def key_type(actions: pa.Array) -> str:
    """Return the type of actions, as it is saved."""
    return str(plain_column(actions).type)


def saved_keys(column: pa.Array, name: str = "action") -> SavedKeys:
    """Return keys to save; without arrays for a type that is none of keys.

    Args:
        column: The keys.
        name: What they are keys of, as in the names of their files.
    """
    plain = plain_column(column)
    kind = plain.type
    if plain.null_count:
        raise damaged(f"the {name}s", f"{name} must not be null")
    if types.is_decimal(kind):
        plain = pa.array([format(value, "f") for value in plain.to_pylist() if value is not None], pa.string())
    if is_text(str(kind)):
        joined = plain.cast(pa.large_binary())
        _, starts, text = joined.buffers()
        offsets = np.frombuffer(starts, np.int64)[joined.offset : joined.offset + len(joined) + 1]
        data = np.frombuffer(text, np.uint8)[offsets[0] : offsets[-1]] if text is not None else np.zeros(0, np.uint8)
        return SavedKeys(str(kind), text=data, starts=offsets - offsets[0], name=name)
    dtype = number_dtype(str(kind))
    if dtype is None:
        return SavedKeys(str(kind), name=name)
    if not types.is_boolean(kind):
        plain = plain.view(pa.from_numpy_dtype(np.dtype(dtype)))
    return SavedKeys(str(kind), to_numpy(plain).astype(dtype), name=name)


def arrays_of(keys: SavedKeys) -> dict[str, NDArray[Any]]:
    """Return the arrays of keys to save, by their file."""
    specs = key_arrays(keys.kind, keys.name) if is_text(keys.kind) or number_dtype(keys.kind) else {}
    return {spec.file: getattr(keys, field) for field, spec in specs.items()}


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
        raise damaged(keys.file, f"the actions cannot be read ({first_lines(error)})") from error
    return actions
