"""What codes mean: of remarks, assumptions and errors, from the registry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from warmstart.core import CODES, FAMILIES, Code, UsageError, quoted
from warmstart.results.display import Result, TextTable


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What some codes mean, why they matter and what to do; of all codes a table of their titles."""

    codes: tuple[Code, ...]

    @property
    def tables(self) -> list[TextTable]:
        """Return the titles of all codes, if all were asked for."""
        if len(self.codes) < len(CODES):
            return []
        rows = [(one.code, FAMILIES[one.code[:3]], one.title) for one in self.codes]
        return [TextTable("Codes of remarks, assumptions and errors", ("code", "about", "title"), rows, left=3)]

    @property
    def notes(self) -> list[str]:
        """Return the texts of the codes asked for; of all of them, how to ask for one."""
        if self.tables:
            return ["warmstart explain CODE, or ws.explain(code), says what one means and what to do."]
        lines = []
        for one in self.codes:
            lines += ["", f"{one.code}: {one.title} ({FAMILIES[one.code[:3]]})", one.meaning]
            lines += [f"Why it matters: {one.why}", f"What to do: {one.remedy}"]
        return lines[1:]


def explain(*codes: str) -> Explanation:
    """Return what codes such as WS104 mean, why they matter and what to do; without a code, all of them.

    >>> import warmstart as ws
    >>> print(ws.explain("ws201"))
    WS201: A context column that never repeats (data)
    A context column differs in more than 90 % of the events.
    Why it matters: With it in the context nothing repeats, so nothing can be counted, and nothing is certified.
    What to do: Leave out what only tells events apart, or name it as event_id (--event-id).
    """
    for code in codes:
        if not isinstance(code, str) or code.upper() not in CODES:
            hint = f"Did you mean {', '.join(_nearest(str(code)))}? Without a code, all are listed."
            raise UsageError(f"There is no code {quoted(code)}.", hint)
    return Explanation(tuple(CODES[code.upper()] for code in dict.fromkeys(codes)) or tuple(CODES.values()))


def _nearest(code: str) -> list[str]:
    """Return three codes that may have been meant: by their number, else by their letters.

    >>> _nearest("ws100")
    ['WS101', 'WS102', 'WS103']
    """
    if number := re.fullmatch(r"\D{0,3}(\d{3})", code):
        return sorted(CODES, key=lambda known: abs(int(known[2:]) - int(number[1])))[:3]
    return get_close_matches(code.upper(), CODES, n=3, cutoff=0.0)
