"""How long after its impression an outcome counts."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from warmstart.core.errors import UsageError
from warmstart.core.text import quoted

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST = 100 * 366 * 86_400_000_000


def span(window: str | timedelta) -> int:
    """Turn a window of attribution into microseconds.

    >>> span("7d") == span(timedelta(days=7)) == 7 * 86_400_000_000
    True
    """
    if isinstance(window, timedelta):
        found = window // timedelta(microseconds=1)
    else:
        written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", window, flags=re.ASCII)
        if written is None:
            raise UsageError(f"Cannot read {quoted(window)} as a window.", "Write it like 30m, 12h, 7d or 2w.")
        found = int(Fraction(written[1]) * SECONDS[written[2]] * 1_000_000)
    if not 0 < found <= LONGEST:
        raise UsageError(f"A window of {quoted(str(window))} is none.", "It is longer than 0, and less than a century.")
    return found
