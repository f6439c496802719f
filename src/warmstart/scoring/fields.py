"""The fields of policy.json: a check for each, with its type and range; keys that are not known are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any

from warmstart.core import printable, quoted
from warmstart.scoring.arrays import damaged

FILE = "policy.json"
Check = Callable[[Any, str], None]


def is_saved_policy(source: Any) -> bool:
    """Tell whether a path is a folder that ``save_policy`` wrote."""
    return isinstance(source, str | Path) and (Path(source) / FILE).is_file()


def refuse(where: str, wanted: str, value: Any) -> None:
    """Raise the error for a field that is not what it must be."""
    shown = quoted(value) if isinstance(value, str | int | float | None) else f"of the type {type(value).__name__}"
    raise damaged(FILE, f"{where} must be {wanted}, and is {shown}")


def whole(least: int = 0, most: int = 2**63 - 1) -> Check:
    """Check a whole number in a range."""

    def check(value: Any, where: str) -> None:
        if type(value) is not int or not least <= value <= most:
            refuse(where, f"a whole number from {least} to {most}", value if type(value) is not int else str(value))

    return check


def number(least: float = -inf, most: float = inf) -> Check:
    """Check a finite number in a range."""

    def check(value: Any, where: str) -> None:
        small = type(value) is float or (type(value) is int and abs(value) < 2**1000)
        if not small or not isfinite(value) or not least <= value <= most:
            refuse(where, f"a finite number from {least:g} to {most:g}", value if small else str(value))

    return check


def text(value: Any, where: str) -> None:
    """Check text."""
    if type(value) is not str:
        refuse(where, "text", value)


def flag(value: Any, where: str) -> None:
    """Check true or false."""
    if type(value) is not bool:
        refuse(where, "true or false", value)


def one_of(*options: str) -> Check:
    """Check that a field is one of several words."""

    def check(value: Any, where: str) -> None:
        if type(value) is not str or value not in options:
            refuse(where, f"one of {', '.join(options)}", value)

    return check


def optional(inner: Check) -> Check:
    """Check what may be null."""
    return lambda value, where: None if value is None else inner(value, where)


def listed(inner: Check, least: int = 0, most: float = inf) -> Check:
    """Check a list of so many values."""

    def check(value: Any, where: str) -> None:
        if type(value) is not list or not least <= len(value) <= most:
            refuse(where, f"a list of {least:g} values" + (" or more" if most > least else ""), value)
        for place, part in enumerate(value):
            inner(part, f"{where}[{place}]")

    return check


def mapping(inner: Check) -> Check:
    """Check an object with any keys."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            refuse(where, "an object", value)
        for name, part in value.items():
            inner(part, f"{where}.{printable(name)}")

    return check


def record(fields: Mapping[str, Check], absent: tuple[str, ...] = ()) -> Check:
    """Check an object with exactly these keys, of which some may be absent."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            refuse(where or "the file", "an object", value)
        prefix = f"{where}." if where else ""
        for name in value:
            if name not in fields:
                raise damaged(FILE, f"{prefix}{printable(name)} is not known")
        for name, inner in fields.items():
            if name in value:
                inner(value[name], f"{prefix}{name}")
            elif name not in absent:
                raise damaged(FILE, f"{prefix}{name} is missing")

    return check
