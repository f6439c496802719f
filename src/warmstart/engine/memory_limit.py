"""A memory limit as people write it: 4GB, 500MB, 8GiB, 60%."""

from __future__ import annotations

import math
import re

from warmstart.core import UsageError, quoted

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b\s*", re.IGNORECASE)
PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
# More than any machine has.
MOST = 1e15


def size_of(limit: str) -> float | None:
    """Return how many bytes a limit is; None for a share of the machine's memory.

    >>> size_of("500MB"), size_of("2 GiB"), size_of("50%")
    (500000000.0, 2147483648.0, None)
    """
    if match := PERCENT.fullmatch(limit):
        size, most = float(match[1]), 100.0
    elif match := SIZE.fullmatch(limit):
        number, unit, binary = match.groups()
        size, most = float(number) * float((1024 if binary else 1000) ** ("kmgt".index(unit.lower()) + 1)), MOST
    else:
        size, most = math.nan, MOST
    if not 0 < size <= most:
        raise UsageError(f"{quoted(limit)} is not a memory limit.", "Write it like 4GB, 500MB, 8GiB or 60%.")
    return None if most == 100.0 else size
