"""Dates and times in forms that are not read without being told how they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CLOCK = r"([T, ]*)(?:(\d{1,2}):\d{2}(:\d{2})?( ?[AaPp][Mm])?)?\s*$"
DIGITS = re.compile(r"^\s*(\d{1,4})([./-])(\d{1,2})\2(\d{4}|\d{1,2})" + _CLOCK)
DAY_AND_NAME = re.compile(r"^\s*(\d{1,2})(\.? |-)([A-Za-zÀ-ÿ]{3,9})(\.?[ ,-] ?)(\d{4}|\d{2})" + _CLOCK)
NAME_AND_DAY = re.compile(r"^\s*([A-Za-zÀ-ÿ]{3,9})(\.? )(\d{1,2})(,? )(\d{4})" + _CLOCK)
# Names of months that programs read everywhere: those of English.
MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
# Integers such as 20261231, with or without a time of day.
_WHOLE = re.compile(r"^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])((?:[01]\d|2[0-3])[0-5]\d([0-5]\d)?)?$")
LAST_MONTH = 12


def is_written_date(text: str) -> bool:
    """Tell whether a text looks like a date, in whatever form.

    >>> [is_written_date(text) for text in ("3/1/2026 2:00 PM", "01-Nov-2024", "Nov 01, 2024", "10.2.1", "2026")]
    [True, True, True, False, False]
    """
    if digits := DIGITS.match(text):
        first, _, _, last = digits.groups()[:4]
        return len(first) == 4 or (len(first) <= 2 and len(last) in (2, 4))
    named = DAY_AND_NAME.match(text)
    name = named[3] if named else match[1] if (match := NAME_AND_DAY.match(text)) else ""
    return bool(_month(name)) if name else False


def integer_format(least: float | None, most: float | None) -> str | None:
    """Return how integers are written that are dates, by the least and the largest of them; None if they are none.

    >>> integer_format(20261231, 20270101), integer_format(20261231235959, 20270101000000), integer_format(1, 20261231)
    ('%Y%m%d', '%Y%m%d%H%M%S', None)
    """
    matches = [_WHOLE.match(f"{end:.0f}") if end is not None else None for end in (least, most)]
    forms = {"%Y%m%d" + ("%H%M" if own[1] else "") + ("%S" if own[2] else "") if own else None for own in matches}
    return forms.pop() if len(forms) == 1 else None


def date_formats(examples: Sequence[str], ends: tuple[float, float] | None) -> tuple[str, ...]:
    """Return the formats (of Python's strptime) that dates in text may have: one, two if days could be months, or none.

    Args:
        examples: Some of them.
        ends: The largest first and the largest second number, of all of them.

    >>> date_formats(["03.01.25 08:00"], (28, 12)), date_formats(["3/1/2026"], (12, 9))
    (('%d.%m.%y %H:%M',), ('%d/%m/%Y', '%m/%d/%Y'))
    >>> date_formats(["Nov 01, 2024 12:01 AM"], None)
    ('%b %d, %Y %I:%M %p',)
    """
    result = {formats for one in examples if (formats := _formats(one, ends))}
    return result.pop() if len(result) == 1 else ()


def _formats(example: str, ends: tuple[float, float] | None) -> tuple[str, ...]:
    if digits := DIGITS.match(example):
        first, mark, _, last, *clock = digits.groups()
        orders = _orders(first, mark, last, ends)
        return tuple(mark.join(order) + _clock(*clock) for order in orders)
    if named := DAY_AND_NAME.match(example):
        _, mark, name, other, year, *clock = named.groups()
        form = f"%d{mark}{_month(name)}{other}%{'Y' if len(year) == 4 else 'y'}{_clock(*clock)}"
        return (form,) if _month(name) else ()
    if named := NAME_AND_DAY.match(example):
        name, mark, _, other, _, *clock = named.groups()
        return (f"{_month(name)}{mark}%d{other}%Y{_clock(*clock)}",) if _month(name) else ()
    return ()


def _orders(first: str, mark: str, last: str, ends: tuple[float, float] | None) -> list[list[str]]:
    """Return in which orders year, month and day may stand."""
    high, middle = ends or (0.0, 0.0)
    if len(first) == 4:
        return [["%Y", "%m", "%d"]]
    if high > 31:
        return [["%y", "%m", "%d"]]
    year = "%Y" if len(last) == 4 else "%y"
    days_first, months_first = ["%d", "%m", year], ["%m", "%d", year]
    # With points the day is first everywhere.
    if mark == "." or high > LAST_MONTH:
        return [days_first]
    return [months_first] if middle > LAST_MONTH else [days_first, months_first]


def _clock(mark: str, hour: str | None, seconds: str | None, half: str | None) -> str:
    if hour is None:
        return ""
    second = ":%S" if seconds else ""
    return f"{mark}%I:%M{second}{' ' if half.startswith(' ') else ''}%p" if half else f"{mark}%H:%M{second}"


def _month(name: str) -> str:
    """Return how the name of a month is written; "" if it is none of English."""
    known = [month for month in MONTHS if month.startswith(name.lower())]
    return "" if not known else "%b" if len(name) == 3 else "%B" if name.lower() in MONTHS else ""
