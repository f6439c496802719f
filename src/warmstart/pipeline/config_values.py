"""Values of a settings file in the types that settings declare."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from warmstart.core import Moment, quoted

WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", Path: "a path"}


def fitting(kind: Any, value: Any) -> Any:
    """Return a value of TOML in the type of a field; TypeError if it has another."""
    origin, options = get_origin(kind), get_args(kind)
    if kind == Moment:
        return _checked(value, str, int, date, datetime)
    if origin is list:
        # One of a list stands for itself, but for a list of lists.
        several = isinstance(value, list) and not (options[0] == list[str] and all(isinstance(v, str) for v in value))
        return [fitting(options[0], one) for one in (value if several else [value])]
    if origin is dict:
        return {name: fitting(options[1], part) for name, part in _checked(value, dict).items()}
    if origin is tuple:
        parts = _checked(value, list)
        if len(parts) != len(options):
            raise TypeError
        return tuple(fitting(one, part) for one, part in zip(options, parts, strict=True))
    if origin is not None:  # a number, or a word
        words = [word for one in options if get_origin(one) is Literal for word in get_args(one)]
        return value if value in words else fitting(float, value)
    return _plain(kind, value)


def _plain(kind: type, value: Any) -> Any:
    if isinstance(value, date) and kind is str:
        return value.isoformat()
    if kind is float and type(value) is int:
        return float(value)
    return Path(_checked(value, str)) if kind is Path else _checked(value, kind)


def _checked(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def wanted(kind: Any) -> str:
    """Say what a value has to be.

    >>> wanted(list[str]), wanted(dict[str, tuple[float, float]])
    ('text or a list of text', 'a table of [lowest, highest] by column')
    """
    origin, options = get_origin(kind), get_args(kind)
    if kind == Moment:
        return "a time"
    if origin is list:
        one = wanted(options[0])
        return f"{one} or a list of {one}" if get_origin(options[0]) is not list else "a list of lists of text"
    if origin is dict:
        return "a table of [lowest, highest] by column"
    return WORDS[kind] if origin is None else 'a number or "auto"'


def shown_value(value: Any) -> str:
    """Say what a value is."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a table"}
    kind = names.get(type(value), "a time")
    return f"{kind} ({quoted(value)})" if isinstance(value, str | int | float) else kind
