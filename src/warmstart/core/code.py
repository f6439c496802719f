"""One kind of remark, assumption or error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """One kind of remark, assumption or error.

    ``meaning``: what the program says with it. ``why``: what happens to results, measured where it was measured.
    ``remedy``: what to do.
    """

    code: str
    title: str
    meaning: str
    why: str
    remedy: str
