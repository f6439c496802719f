"""What came of a join of impressions with their outcomes: where every row went."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from warmstart.core import counted, iso, printable
from warmstart.results.display import SCHEMA, Result, TextTable, fields_of

Duplicates = Literal["first", "sum", "max", "error"]
Repeated = Literal["last", "error"]


@dataclass(frozen=True)
class Impressions:
    """Where the impressions went: ``read = with_nulls + too_young (if left out) + written``.

    ``rewarded``: of the written ones, those with an outcome that counts.
    """

    read: int
    with_nulls: int
    too_young: int
    written: int
    rewarded: int


@dataclass(frozen=True)
class Outcomes:
    """Where the outcomes went. The fields after ``read`` add up to it.

    ``never_shown``: no impression has their key. ``before``: they came before the first impression of their key.
    ``outside_window``: too late. ``of_too_young``: of impressions that are left out. ``rewarding``: one for each
    rewarded impression. ``duplicates``: further outcomes of a rewarded impression.
    """

    read: int
    with_nulls: int
    never_shown: int
    before: int
    outside_window: int
    of_too_young: int
    rewarding: int
    duplicates: int


@dataclass(frozen=True, repr=False)
class Joined(Result):
    """A file of impressions with their rewards, and the count of everything that is not in it.

    ``window`` is in microseconds and ``until`` in microseconds since 1970: the moment up to which outcomes are known.
    """

    path: Path
    impressions: Impressions
    outcomes: Outcomes
    duplicates: Duplicates
    window: int | None = None
    until: int | None = None
    until_is_last_outcome: bool = False
    kept_young: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON shows them."""
        return {
            "schema": SCHEMA,
            "path": str(self.path),
            "impressions": fields_of(self.impressions),
            "outcomes": fields_of(self.outcomes),
            "duplicates": self.duplicates,
            "window_seconds": None if self.window is None else self.window / 1_000_000,
            "until": iso(self.until),
            "too_young": None if self.window is None else ("kept" if self.kept_young else "left out"),
        }

    @property
    def tables(self) -> list[TextTable]:
        """Return what became of the impressions and of the outcomes."""
        names = {
            "with_nulls": "with nulls, left out",
            "too_young": "too young, kept" if self.kept_young else "too young, left out",
            "rewarded": "  of these with an outcome",
            "never_shown": "of no impression",
            "before": "before their impression",
            "outside_window": "after the window",
            "of_too_young": "of impressions too young",
            "rewarding": "one for each rewarded impression",
            "duplicates": {"first": "later ones", "sum": "further ones, added"}.get(self.duplicates, "further ones"),
        }
        return [
            TextTable(title, ("", "rows"), [(names.get(name, name), f"{n:,}") for name, n in vars(counts).items()], 1)
            for title, counts in (("Impressions", self.impressions), ("Outcomes", self.outcomes))
        ]

    @property
    def notes(self) -> list[str]:
        """Say what was written, and by which rules."""
        lines = [f"Wrote {counted(self.impressions.written, 'event')} to {printable(self.path)}."]
        if self.until is not None:
            known = "the last outcome" if self.until_is_last_outcome else "as given"
            fate = "kept, so their rewards may still rise" if self.kept_young else "left out"
            young = f"impressions whose window ends later are {fate}"
            lines.append(f"Outcomes are taken to be known until {iso(self.until)} ({known}); {young}.")
        if self.duplicates == "sum" and self.outcomes.duplicates:
            lines.append("WARNING: Rewards are sums and may exceed 1: read them with a reward range.")
        if not self.impressions.rewarded:
            lines.append("WARNING: No outcome belongs to any impression. Are the keys of both tables the same?")
        return lines
