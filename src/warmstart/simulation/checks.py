"""Checks that the settings of simulations share."""

from __future__ import annotations

import math
from typing import Any

from warmstart.core import UsageError, quoted


def require_number(name: str, value: Any, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse a setting that is not a finite number from ``low`` to ``high``."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or (whole and value != int(value)) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{name} must be {kind} from {low:g} to {high:g}, and is {quoted(value)}.")
