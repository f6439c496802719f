"""Arrays of saved policies: each is declared as a spec, memory-mapped, and checked against it on loading."""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warmstart.core import SavedFileError, first_lines, printable

HINT = "Restore the folder, or fit again."
ITEMS_PER_CHUNK = 1 << 20
BYTES_PER_CHUNK = 1 << 20
Reading = Literal["mapped", "whole"]
# How NumPy writes arrays. Headers are matched, not evaluated, so that none can do more than name a dtype and a shape.
_START = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[ -&(-~]{1,40})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>([0-9]{1,15},)?( ?[0-9]{1,15},?){0,7})\), \} *\n"
)


@dataclass(frozen=True)
class ArraySpec:
    """One array of a saved model: its file, its dtype, its shape as names of sizes, and the range of its values.

    A size that is not known yet is that of the first array that has it. ``below``: the name of a size that values stay
    under. ``offsets_to``: values are offsets, from 0 to this size, that do not decrease.
    """

    file: str
    dtype: str
    shape: tuple[str, ...]
    least: float = -inf
    most: float = inf
    positive: bool = False
    below: str | None = None
    offsets_to: str | None = None


def damaged(file: str, what: str) -> SavedFileError:
    """Return the error for a file of a saved policy, with a hint."""
    return SavedFileError(f"{printable(file)}: {what}.", HINT)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, read in parts."""
    digest = hashlib.sha256()
    # A pipe would be waited for, and a device has no end.
    if path.exists() and not path.is_file():
        raise damaged(path.name, "is not a file")
    try:
        with path.open("rb") as file:
            while part := file.read(BYTES_PER_CHUNK):
                digest.update(part)
    except OSError as error:
        raise damaged(path.name, f"cannot be read ({error.strerror or first_lines(error)})") from error
    return digest.hexdigest()


def read_array(folder: Path, spec: ArraySpec, sizes: dict[str, int], *, reading: Reading = "mapped") -> NDArray[Any]:
    """Return an array, checked; sizes that it has first are added to ``sizes``. Nothing is unpickled.

    Args:
        folder: of the saved policy.
        spec: what the array must be.
        sizes: the lengths that are known, by name.
        reading: mapped, which leaves what is not used on the disk, or whole: what the file becomes later is the same.
    """
    array = _opened(folder / spec.file, spec, reading)
    if array.ndim != len(spec.shape):
        raise damaged(spec.file, f"has {array.ndim} dimensions, not {len(spec.shape)}")
    for name, size in zip(spec.shape, array.shape, strict=True):
        if sizes.setdefault(name, size) != size:
            raise damaged(spec.file, f"has the length {size:,}, and {name} is {sizes[name]:,}")
    if spec.offsets_to is not None:
        _check_offsets(array, spec, sizes[spec.offsets_to])
    for part in _parts(array):
        _check_values(part, spec, sizes)
    _release(array)
    return array


def _opened(path: Path, spec: ArraySpec, reading: Reading) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            start = file.read(len(_START))
            header = file.read(int.from_bytes(file.read(2), "little"))
            offset, size = file.tell(), path.stat().st_size
    except OSError as error:
        raise damaged(spec.file, f"cannot be read ({error.strerror or first_lines(error)})") from error
    match = _HEADER.fullmatch(header)
    if start != _START or match is None:
        raise damaged(spec.file, "is no array in the .npy format 1.0")
    dtype, shape = np.dtype(spec.dtype), tuple(int(length) for length in match["shape"].split(b",") if length.strip())
    if match["dtype"].decode() != dtype.str:
        raise damaged(spec.file, f"has the dtype {printable(match['dtype'].decode())}, not {dtype.str}")
    if match["fortran"] == b"True":
        raise damaged(spec.file, "is not in C order")
    items = prod(shape)
    if size != offset + items * dtype.itemsize:
        raise damaged(spec.file, "has another size than its header says")
    if not items:
        return np.zeros(shape, dtype)
    if reading == "mapped":
        return np.memmap(path, dtype, "c", offset, shape)
    whole = np.fromfile(path, dtype, items, offset=offset)
    if len(whole) != items:
        raise damaged(spec.file, "has another size than its header says")
    return whole.reshape(shape)


def _check_offsets(array: NDArray[Any], spec: ArraySpec, end: int) -> None:
    if not len(array) or array[0] != 0:
        raise damaged(spec.file, "offsets must start at 0")
    if bool((array[1:] < array[:-1]).any()):
        raise damaged(spec.file, "offsets must not decrease")
    if array[-1] != end:
        raise damaged(spec.file, f"offsets must end at {end:,}, the length of {spec.offsets_to}")


def _check_values(part: NDArray[Any], spec: ArraySpec, sizes: dict[str, int]) -> None:
    if part.dtype.kind == "f" and not np.isfinite(part).all():
        raise damaged(spec.file, "values must be finite")
    low, high = part.min(), part.max()
    if spec.positive and not low > 0:
        raise damaged(spec.file, "values must be above 0")
    if low < spec.least or high > spec.most:
        raise damaged(spec.file, f"values must lie between {spec.least:g} and {spec.most:g}")
    if spec.below is not None and high >= sizes[spec.below]:
        raise damaged(spec.file, f"values must be below {sizes[spec.below]:,}, the {spec.below}")


def _parts(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.reshape(-1)
    for begin in range(0, len(flat), ITEMS_PER_CHUNK):
        yield flat[begin : begin + ITEMS_PER_CHUNK]
        _release(array)


def _release(array: NDArray[Any]) -> None:
    """Free the pages that were read of a memory-mapped array: to use the ranking alone, the model is not needed."""
    if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
