"""Keys of a saved policy (its actions, its contexts) as arrays: numbers as they are, text one after another.

The type is named as Arrow prints it (``int64``, ``timestamp[us, tz=UTC]``); times are whole numbers of its unit, and
decimals are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warmstart.core import quoted
from warmstart.scoring.arrays import ArraySpec, damaged, read_array
from warmstart.scoring.fields import FILE

_PLAIN = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "bool": "uint8",
    "date32[day]": "int32",
    "date64[ms]": "int64",
    "time32[s]": "int32",
    "time32[ms]": "int32",
    "time64[us]": "int64",
    "time64[ns]": "int64",
}
_TEXT = ("string", "large_string", "binary", "large_binary")
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([\w+:/-]{1,64}))?\]")
_DECIMAL = re.compile(r"decimal(?:32|64|128|256)\([0-9]{1,2}, -?[0-9]{1,2}\)")
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# The last day of the year 9999, since 1970.
LAST_DAY = 2_932_896.0
_DAY = 86_400
_DIGITS = re.compile(rb"-?[0-9]{1,80}(\.[0-9]{1,80})?")


@dataclass(frozen=True, eq=False)
class SavedKeys:
    """Keys by their type and arrays: ``numbers`` has an entry each, or ``text`` (UTF-8) is cut at ``starts``.

    ``name``: what they are keys of, as in the names of their files.
    """

    kind: str
    numbers: NDArray[Any] | None = None
    text: NDArray[np.uint8] | None = None
    starts: NDArray[np.int64] | None = None
    name: str = "action"

    def __len__(self) -> int:
        if self.numbers is not None:
            return len(self.numbers)
        return 0 if self.starts is None else len(self.starts) - 1

    def parts(self) -> list[bytes]:
        """Return text or bytes, one for each key."""
        assert self.text is not None
        assert self.starts is not None
        whole, starts = self.text.tobytes(), self.starts.tolist()
        return [whole[begin:end] for begin, end in pairwise(starts)]

    @property
    def file(self) -> str:
        """Return the name of the file that the keys are in."""
        files = key_files(self.name)
        return files.text if self.numbers is None else files.numbers

    def values(self) -> list[Any]:
        """Return the keys as Python values, as Arrow's ``to_pylist`` does."""
        if self.numbers is None:
            read = _reader_of_text(self.kind)
            return [self._read(read, part) for part in self.parts()]
        convert, listed = _reader_of_numbers(self.kind), self.numbers.tolist()
        return listed if convert is None else [self._read(convert, number) for number in listed]

    def _read(self, read: Callable[[Any], Any], value: Any) -> Any:
        try:
            return read(value)
        except (ValueError, OverflowError) as error:
            what = self.name.split("_")[0]
            raise damaged(self.file, f"{quoted(str(value))} is no {what} of its type") from error


class KeyFiles(NamedTuple):
    """The files of keys: numbers, or text and where each begins."""

    numbers: str
    text: str
    starts: str


def key_files(name: str) -> KeyFiles:
    """Return the names of the files of keys."""
    return KeyFiles(f"{name}_keys.npy", f"{name}_text.npy", f"{name}_text_starts.npy")


def is_text(kind: str) -> bool:
    """Tell whether keys of a type are saved as text or bytes."""
    return kind in _TEXT or _DECIMAL.fullmatch(kind) is not None


def number_dtype(kind: str) -> str | None:
    """Return the dtype that the numbers of a type are saved in; None if it is no type of keys."""
    return "int64" if _TIMESTAMP.fullmatch(kind) else _PLAIN.get(kind)


def key_arrays(kind: str, name: str = "action", many: str = "actions") -> dict[str, ArraySpec]:
    """Return the arrays that keys of a type are in, by their field.

    Args:
        kind: The type.
        name: What they are keys of, as in the names of their files.
        many: The name of their number.
    """
    files = key_files(name)
    if is_text(kind):
        starts = ArraySpec(files.starts, "int64", (f"{many} + 1",), offsets_to="bytes")
        return {"text": ArraySpec(files.text, "uint8", ("bytes",)), "starts": starts}
    most = {"bool": 1.0, "date32[day]": LAST_DAY}.get(kind, np.inf)
    return {"numbers": ArraySpec(files.numbers, str(number_dtype(kind)), (many,), most=most)}


def check_kind(value: Any, where: str) -> None:
    """Refuse what is no type of keys."""
    if type(value) is not str or not (is_text(value) or number_dtype(value)):
        raise damaged(FILE, f"{where} must be a type of keys, and is {quoted(str(value))}")


def load_keys(folder: Path, kind: str) -> SavedKeys:
    """Return the actions of a saved policy: checked, unique and at least one."""
    keys = read_keys(folder, kind)
    values: Sequence[Any] = keys.values()
    if not values:
        raise damaged(keys.file, "has no actions")
    if len(set(values)) < len(values):
        raise damaged(keys.file, "action must be unique")
    return keys


def read_keys(folder: Path, kind: str, name: str = "action", many: str = "actions") -> SavedKeys:
    """Return keys of a saved policy; arguments as those of ``key_arrays``."""
    sizes: dict[str, int] = {}
    specs = key_arrays(kind, name, many)
    arrays = {field: read_array(folder, spec, sizes, reading="whole") for field, spec in specs.items()}
    return SavedKeys(kind, name=name, **arrays)


def _reader_of_text(kind: str) -> Callable[[bytes], Any]:
    if kind.endswith("binary"):
        return bytes
    return bytes.decode if kind in _TEXT else _decimal


def _decimal(part: bytes) -> Decimal:
    if not _DIGITS.fullmatch(part):
        raise ValueError(part)
    return Decimal(part.decode())


def _reader_of_numbers(kind: str) -> Callable[[int], Any] | None:
    """Return how numbers become Python values; None if they are them."""
    if kind == "bool":
        return bool
    if kind.startswith("date"):
        days = 1 if kind == "date32[day]" else _DAY * 1_000
        return lambda number: date(1970, 1, 1) + timedelta(number // days)
    if kind.startswith("time") and not kind.startswith("timestamp"):
        unit = kind[kind.index("[") + 1 : -1]
        return lambda number: _time(number, PER_SECOND[unit])
    if (match := _TIMESTAMP.fullmatch(kind)) is None:
        return None
    zone = None if match[2] is None else _zone(match[2])
    return lambda number: _moment(number, PER_SECOND[match[1]], zone)


def _time(number: int, per_second: int) -> Any:
    seconds, rest = divmod(number, per_second)
    if not 0 <= seconds < _DAY:
        raise ValueError(number)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, _microseconds(rest, per_second))


def _moment(number: int, per_second: int, zone: tzinfo | None) -> Any:
    seconds, rest = divmod(number, per_second)
    if rest * 1_000_000 % per_second:
        return np.datetime64(number, "ns")
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(0, seconds, _microseconds(rest, per_second))
    return moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone)


def _microseconds(rest: int, per_second: int) -> int:
    microseconds, finer = divmod(rest * 1_000_000, per_second)
    if finer:
        raise ValueError(rest)
    return microseconds


def _zone(name: str) -> tzinfo:
    if match := re.fullmatch(r"([+-])(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    from zoneinfo import ZoneInfo

    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise damaged(FILE, f"actions.type has the time zone {quoted(name)}, which is not known") from error
