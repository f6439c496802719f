"""What came of a join of impressions with their outcomes: where every row went."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from warmstart.core import counted, iso, percent, printable
from warmstart.results.display import Fact, Result, TextTable, fields_of, plain

Duplicates = Literal["first", "sum", "max", "error"]
Repeated = Literal["last", "error"]
WithoutOutcome = Literal["zero", "leave-out"]
# Seconds: a minute, ten, an hour, six, a day, three, a week, four.
DELAYS = (60, 600, 3_600, 21_600, 86_400, 259_200, 604_800, 2_419_200)
# Say so where more than this share of the outcomes is late.
LATE = 0.05
SPANS = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True)
class Impressions:
    """Where the impressions went: ``read = with_nulls + too_young (if left out) + without_outcome + written``.

    ``rewarded``: of the written ones, those with an outcome that counts. ``without_outcome``: left out for want of one.
    """

    read: int
    with_nulls: int
    too_young: int
    written: int
    rewarded: int
    without_outcome: int = 0


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


@dataclass(frozen=True)
class Delay:
    """Rewarded impressions whose first outcome came within so many seconds, and not sooner; None: later than all."""

    within_seconds: int | None
    impressions: int

    @property
    def words(self) -> str:
        """Say how late that is."""
        return f"within {_span(self.within_seconds)}" if self.within_seconds else f"after {_span(DELAYS[-1])}"


@dataclass(frozen=True, repr=False)
class Joined(Result):
    """A file of impressions with their rewards, and the count of everything that is not in it.

    ``window`` is in microseconds and ``until`` in microseconds since 1970: the moment up to which outcomes are known.
    ``delays``: how late the first outcomes came, with times.
    """

    path: Path
    impressions: Impressions
    outcomes: Outcomes
    duplicates: Duplicates
    window: int | None = None
    until: int | None = None
    until_is_last_outcome: bool = False
    kept_young: bool = False
    delays: tuple[Delay, ...] = ()
    without_outcome: WithoutOutcome = "zero"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON shows them."""
        return {
            **self._head(),
            "path": str(self.path),
            "impressions": fields_of(self.impressions),
            "outcomes": fields_of(self.outcomes),
            "duplicates": self.duplicates,
            "window": self.window,
            "window_seconds": None if self.window is None else self.window / 1_000_000,
            "until": iso(self.until),
            "until_is_last_outcome": self.until_is_last_outcome,
            "kept_young": self.kept_young,
            "delays": plain(self.delays),
            "without_outcome": self.without_outcome,
            "too_young": None if self.window is None else ("kept" if self.kept_young else "left out"),
            "headline": self.headline,
            "facts": plain(self.facts),
            "explanations": self.notes,
        }

    @property
    def headline(self) -> list[str]:
        """Return how many impressions have a reward, and what to do with the log that was written."""
        shown, late, read = self.impressions, self.outcomes.outside_window, self.outcomes.read
        asked = shown.written + shown.without_outcome
        title = f"{_of(shown.rewarded, asked)} of {counted(asked, 'impression')} have an outcome{self.within}"
        if not shown.rewarded:
            return [title, "No outcome counts: nothing can be learned from this log."]
        texts = [f"{self.fate_of_the_rest} Next: warmstart audit of the joined log."]
        if self.window is not None and late > LATE * read:
            hint = "a longer window would count more of them, and leaves more impressions out as too young"
            texts.append(f"{_of(late, read)} of the outcomes came after the window and do not count: {hint}.")
        return [title, *texts]

    @property
    def within(self) -> str:
        """Return how soon an outcome must come to count, to follow a noun; empty if any time will do."""
        if self.window is None:
            return ""
        whole = self.window % 1_000_000 == 0
        return f" within {_span(self.window // 1_000_000) if whole else f'{self.window / 1_000_000:g} seconds'}"

    @property
    def fate_of_the_rest(self) -> str:
        """Say what became of impressions without an outcome that counts."""
        if self.without_outcome == "zero":
            return "The others have reward 0."
        left = counted(self.impressions.without_outcome, "impression")
        return f"The others, {left}, are left out of the log: values are those of impressions that have an outcome."

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return how many outcomes count, and how many belong to nothing that was shown."""
        came = self.outcomes
        counts = f"{_of(came.rewarding + came.duplicates, came.read)} of {counted(came.read, 'outcome')}."
        lost = f"{_of(came.never_shown + came.before, came.read)} of the outcomes."
        return Fact("Outcomes that count", counts), Fact("Without an impression", lost)

    @property
    def tables(self) -> list[TextTable]:
        """Return what became of the impressions and of the outcomes."""
        names = {
            "with_nulls": "with nulls, left out",
            "too_young": "too young, kept" if self.kept_young else "too young, left out",
            "rewarded": f"  of these with an outcome{self.within}",
            "without_outcome": f"without an outcome{self.within}, left out",
            "never_shown": "of no impression",
            "before": "before their impression",
            "outside_window": "after the window",
            "of_too_young": "of impressions too young",
            "rewarding": "one for each rewarded impression",
            "duplicates": {"first": "later ones", "sum": "further ones, added"}.get(self.duplicates, "further ones"),
        }
        counts = [
            TextTable(title, ("", "rows"), [(names.get(name, name), f"{n:,}") for name, n in vars(one).items()], 1)
            for title, one in (("Impressions", self.impressions), ("Outcomes", self.outcomes))
        ]
        return counts if self.delay_table is None else [*counts, self.delay_table]

    @property
    def delay_table(self) -> TextTable | None:
        """Return how late the first outcomes of rewarded impressions came: those that count."""
        total, so_far, rows = sum(one.impressions for one in self.delays), 0, []
        for one in self.delays:
            so_far += one.impressions
            rows.append((self.delay_words(one), f"{one.impressions:,}", f"{so_far / total:.1%}" if total else "-"))
        title = "How late the first outcome came" + (f", of those{self.within}" if self.window else "")
        return TextTable(title, ("after the impression", "impressions", "so far"), rows, 1) if rows else None

    def delay_words(self, delay: Delay) -> str:
        """Say how late that is; no outcome that counts is later than the window."""
        beyond = delay.within_seconds is None or delay.within_seconds * 1_000_000 > (self.window or math.inf)
        return self.within.strip() if self.window is not None and beyond else delay.words

    @property
    def half_within(self) -> str | None:
        """Return the time within which half of the rewarded impressions had their outcome."""
        total, so_far = sum(one.impressions for one in self.delays), 0
        for one in self.delays:
            so_far += one.impressions
            if total and 2 * so_far >= total:
                return self.delay_words(one).removeprefix("within ") if one.within_seconds else None
        return None

    @property
    def notes(self) -> list[str]:
        """Say what was written, and by which rules."""
        lines = [f"Wrote {counted(self.impressions.written, 'event')} to {printable(self.path)}."]
        if self.until is not None:
            known = "the last outcome" if self.until_is_last_outcome else "as given"
            fate = "kept, so their rewards may still rise" if self.kept_young else "left out"
            young = f"impressions whose window ends later are {fate}"
            lines.append(f"Outcomes are taken to be known until {iso(self.until)} ({known}); {young}.")
        rule = (
            f"An outcome counts if it comes{self.within} of its impression" if self.window else "Every outcome counts"
        )
        rest = "are left out: values are those of impressions that have one"
        rest = "have reward 0" if self.without_outcome == "zero" else rest
        lines.append(f"{rule}; impressions without one {rest}.")
        if self.duplicates == "sum" and self.outcomes.duplicates:
            lines.append("WARNING: Rewards are sums and may exceed 1: read them with a reward range. (WS211)")
        if not self.impressions.rewarded:
            lines.append("WARNING: No outcome belongs to any impression. Are the keys of both tables the same? (WS219)")
        return lines


def _of(part: int, whole: int) -> str:
    return f"{part:,} ({percent(part / whole if whole else 0.0)})"


def _span(seconds: int) -> str:
    """Say how long so many seconds are, in the largest unit that divides them."""
    size, noun = next((size, noun) for size, noun in SPANS if seconds % size == 0)
    return counted(seconds // size, noun)
