"""Bisection for the ends of an interval: where a test stops ruling out values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 60


def last_ruled_out(ruled_out: Callable[[float], bool], start: float, inside: float, *, steps: int = STEPS) -> float:
    """Return the last value that a test rules out, going from ``start`` to a value inside the interval; start if none.

    Args:
        ruled_out: the test; once it lets a value stand, it must let stand all that follow up to ``inside``.
        start: the end of the range from which values are ruled out.
        inside: a value that is not ruled out.
        steps: bisections at the most; fewer where floating-point numbers run out.
    """
    if not ruled_out(start):
        return start
    out = start
    for _ in range(steps):
        middle = (out + inside) / 2
        if middle in (out, inside):
            break
        if ruled_out(middle):
            out = middle
        else:
            inside = middle
    return out
