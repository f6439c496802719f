"""Values of JSON records, checked: text, numbers, moments and what is nested; a wrong type is a bad line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from warmstart.core import quoted
from warmstart.interop.lines import BadLineError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# 9999-12-31 in microseconds.
LAST_MOMENT = 253_402_214_400_000_000
MOST_COUNT = 2**53
# What is written as \\uD83D\\uDE00 is one character; half of one can be stored nowhere.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
PAIRS = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
A_LINE = "Write one JSON value a line: jq -c does."

Record = Mapping[str, Any]


def parse_json(line: str, hook: Any = None) -> Any:
    """Return the JSON value of a line; ``hook``: makes objects of pairs."""
    if SURROGATE.search(line) and HALF.search(PAIRS.sub("", line)):
        raise BadLineError("it holds half a character (a lone surrogate)")
    try:
        return json.loads(line, object_pairs_hook=hook)
    except RecursionError as error:
        raise BadLineError("its JSON is nested too deeply") from error
    except ValueError as error:
        raise BadLineError(f"it is no JSON ({error})", A_LINE) from error


def first_of(record: Record, *names: str) -> Any:
    """Return the first value under one of these names that is neither null nor empty text."""
    return next((value for name in names if (value := record.get(name)) is not None and value != ""), None)


def text(record: Record, *names: str) -> str | None:
    """Return the text under the first of these names that has a value; a number is written as text."""
    value = first_of(record, *names)
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadLineError(f"{quoted(names[0])} is no text")


def stripped(record: Record, *names: str) -> str | None:
    """Return the same without spaces around it."""
    value = text(record, *names)
    return None if value is None else value.strip() or None


def number(record: Record, *names: str) -> float | None:
    """Return the number under the first of these names that has a value; it may be written as text."""
    value = first_of(record, *names)
    if value is None:
        return None
    try:
        return finite(float(math.nan if isinstance(value, bool) else value), names[0])
    except (TypeError, ValueError, OverflowError) as error:
        raise BadLineError(f"{quoted(names[0])} is no number") from error


def count(record: Record, *names: str) -> int | None:
    """Return the whole number from 0 on under the first of these names that has a value."""
    value = number(record, *names)
    if value is not None and not (value == int(value) and 0 <= value < MOST_COUNT):
        raise BadLineError(f"{quoted(names[0])} is no count")
    return None if value is None else int(value)


def truth(record: Record, *names: str) -> bool:
    """Tell whether a flag is set: true, or text that says so. A flag that is absent is not."""
    value = first_of(record, *names)
    return value is True or (isinstance(value, str) and value.lower() == "true")


def moment(record: Record, *names: str) -> int | None:
    """Return a time in ISO 8601 as microseconds since 1970; without a zone it is UTC."""
    value = first_of(record, *names)
    return None if value is None else microseconds(value, names[0])


def unfolded(value: Any) -> Any:
    """Return what text holds that is a JSON object or list; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def inside(record: Record, name: str) -> Record:
    """Return the object under a name, which may be written as text; an empty one if there is none."""
    value = unfolded(record.get(name))
    return value if isinstance(value, dict) else {}


def microseconds(value: Any, name: str) -> int:
    """Return a time in ISO 8601 as microseconds since 1970."""
    try:
        written = datetime.fromisoformat(value)
        return (written.replace(tzinfo=written.tzinfo or UTC) - EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadLineError(f"the {name} {quoted(value)} is no time") from error


def finite(value: float, name: str) -> float:
    """Return a number; refuse one that is not finite."""
    if not math.isfinite(value):
        raise BadLineError(f"{quoted(name)} is not finite")
    return value


def seconds_between(start: int | None, end: int | None) -> float | None:
    """Return the seconds from one moment to another; None if one is unknown, or the clock ran backwards."""
    return None if start is None or end is None or end < start else (end - start) / 1_000_000


def as_set(value: Any) -> str | None:
    """Return a list of texts as JSON, sorted and each once, so that equal sets are equal text; None if it is empty.

    >>> as_set(["b", "a", "b"])
    '["a", "b"]'
    """
    value = unfolded(value)
    texts = sorted({part for part in value if isinstance(part, str)}) if isinstance(value, list) else []
    return json.dumps(texts) if texts else None
