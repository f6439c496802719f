"""What a result rests on: one line for every assumption, with what was checked here and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warmstart.results.display import TextTable

Finding = Literal["holds", "no sign", "suspicious", "violated", "not checked", "not testable"]
FINDINGS: dict[Finding, str] = {
    "holds": "by the way it was computed, or by what you said",
    "no sign": "of a violation was seen, which does not prove that there is none",
    "suspicious": "a check rang that chance alone makes ring in about one log of a hundred",
    "violated": "the log or the call shows that it is broken",
    "not checked": "it was not looked at here; audit may tell",
    "not testable": "no log can tell: ask whoever wrote it",
}
TITLE = "What this rests on"


@dataclass(frozen=True)
class Assumption:
    """One assumption, and how it stands.

    ``code``: what ``explain`` knows it by. ``name``: what must be true. ``checked``: what was looked at here, and what
    was seen. ``result``: how it stands, in one of six words. ``matters``: what of the result depends on it, and how.
    """

    code: str
    name: str
    checked: str
    result: Finding
    matters: str

    @property
    def is_broken(self) -> bool:
        """Tell whether something speaks against it."""
        return self.result in ("suspicious", "violated")

    def __str__(self) -> str:
        return f"{self.result.capitalize()}, that {self.name}: {self.checked}. {self.matters} ({self.code})"


def assumptions_table(assumptions: Sequence[Assumption], *, full: bool = False) -> TextTable:
    """Return a table of codes, assumptions and results; ``full``: also what was checked, and what depends on it."""
    rows = [(one.code, one.name, one.result, *((one.checked, one.matters) if full else ())) for one in assumptions]
    more = ("what was checked", "what depends on it") if full else ()
    title = "Assumptions, and how they stand" if full else TITLE
    return TextTable(title, ("code", "assumption", "result", *more), rows, left=3 + len(more))


def assumption_notes(assumptions: Sequence[Assumption], *, but: Sequence[str] = ()) -> list[str]:
    """Say what speaks against assumptions, but for some codes, and what the words for results mean."""
    if not assumptions:
        return []
    broken = [f"WARNING: {one}" for one in assumptions if one.is_broken and one.code not in but]
    used = [word for word in FINDINGS if any(one.result == word for one in assumptions)]
    words = "; ".join(f"'{word}': {FINDINGS[word]}" for word in used)
    return [*broken, f"Under '{TITLE}', {words}. 'warmstart explain CODE' says what each does to results."]
