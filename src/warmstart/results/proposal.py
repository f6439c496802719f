"""What an unknown log seems to be: which column is what, and the settings file that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warmstart.core import counted, percent, quoted, shortened
from warmstart.results.display import Result, TextTable

# In a table of ten rows, names and values are cut off here.
LONGEST = 24


@dataclass(frozen=True)
class ProposedRole:
    """What one role (context, action, ...) is given to: columns, why, what else it could be, and whether that is sure.

    No columns: the log has none for it.
    """

    role: str
    columns: tuple[str, ...]
    reason: str
    alternatives: tuple[str, ...]
    sure: bool


@dataclass(frozen=True, repr=False)
class Proposal(Result):
    """Which column of a log is what, with reasons, ten rows as they are understood, and the text of a settings file.

    ``header`` and ``rows``: the first rows of the log, by role. ``advice``: what to know or to do before going on.
    ``toml``: the settings; ``save("warmstart.toml")`` writes them.
    """

    source: tuple[str, ...]
    events: int
    contexts: int
    roles: tuple[ProposedRole, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    advice: tuple[str, ...]
    toml: str

    def __getitem__(self, role: str) -> ProposedRole:
        """Return what is proposed for a role, such as "action"."""
        return next(one for one in self.roles if one.role == role)

    @property
    def headline(self) -> list[str]:
        """Say how often contexts repeat."""
        each = self.events / max(self.contexts, 1)
        return [f"{counted(self.events, 'event')}, {counted(self.contexts, 'context')}, {each:,.1f} events each."]

    @property
    def tables(self) -> list[TextTable]:
        """Return which column is what, and the first rows."""
        named = [
            (
                one.role,
                ", ".join(shortened(name, LONGEST) for name in one.columns) or "-",
                "yes" if one.sure else "no",
                one.reason,
                ", ".join(shortened(name, LONGEST) for name in one.alternatives[:4]) or "-",
            )
            for one in self.roles
        ]
        header = tuple(shortened(name, LONGEST) for name in self.header)
        rows = [tuple("" if cell is None else shortened(cell, LONGEST) for cell in row) for row in self.rows]
        return [
            TextTable("Which column is what", ("role", "column", "sure", "why", "or"), named, left=5),
            TextTable("The first rows, as they are understood", header, rows, left=len(header)),
        ]

    @property
    def notes(self) -> list[str]:
        """Return what to know or to do before going on."""
        return list(self.advice)


def left_out_note(columns: tuple[str, ...]) -> str:
    """Say which columns are not in the context, and when they should be."""
    named = ", ".join(shortened(name, LONGEST) for name in columns[:8]) + (" ..." if len(columns) > 8 else "")
    return (
        f"WARNING: Not in the context, so that contexts repeat: {named}. If what chose the action looked at one of "
        "them, add it: values would be wrong without (WS101). Where contexts do not repeat, propensities are modelled "
        "and nothing is certified."
    )


def modelled_note() -> str:
    """Say what follows from contexts that do not repeat."""
    return (
        "Hardly any context comes again, so that propensities come from a model of these columns, and nothing is "
        "certified. Leave out what the system did not look at, and what came after it chose: name the rest (--context)."
    )


def nulls_note(nulls: dict[str, int], events: int, reward: str) -> str:
    """Say which columns have nulls, and what that will do."""
    mend = []
    if reward in nulls:
        mend.append("an unknown reward is no failure: fill it with 0 only if empty means that nothing came of it")
    if set(nulls) - {reward}:
        mend.append(
            "fill the columns (an unknown city is a city called unknown; in pandas log['city'] = "
            "log['city'].fillna('unknown'))"
        )
    return (
        f"WARNING: There are nulls: {_shares(nulls, events)}. Commands will refuse the log: {'; '.join(mend)}; or "
        "leave these rows out knowingly: drop_nulls = true. (WS210)"
    )


def without_note(nulls: dict[str, int], events: int) -> str:
    """Say which columns are left out of the context because they have nulls."""
    return (
        f"Left out of the context for its nulls too: {_shares(nulls, events)}. If it matters, fill them (an unknown "
        "city is a city called unknown) and name it: --context."
    )


def _shares(nulls: dict[str, int], events: int) -> str:
    return ", ".join(f"{shortened(name, LONGEST)} in {percent(n / events)} of the events" for name, n in nulls.items())


def only_known_note(reward: str) -> str:
    """Say what to do about a reward that is the same wherever it is known, and empty elsewhere."""
    name = shortened(reward)
    return (
        f"WARNING: {quoted(reward)} is empty or always the same. If empty means that nothing came of it, fill it with "
        f"0 first, in pandas by log[{name!r}] = log[{name!r}].fillna(0): to leave these rows out would leave nothing "
        "to compare. (WS210)"
    )


def unread_time_note(
    name: str, formats: Sequence[str], example: str, *, is_text: bool, instead: str | None = None
) -> str:
    """Say that a column is named or written like a time, and cannot be read as one.

    Args:
        name: The column.
        formats: How its times may be written: two if days could be months, none if it is not known.
        example: One of them.
        is_text: Whether they are text, and no integers.
        instead: The column that is taken for the time.
    """
    so = "nothing is split by time" if instead is None else f"{quoted(instead)} is taken for the time"
    else_ = "that there is none: --time none" if instead is None else f"that this is it: --time {shortened(instead)}"
    own = f"log[{shortened(name)!r}]"
    values = own if is_text else f"{own}.astype(str)"
    reads = [f"pandas.to_datetime({values}, format={form!r})" for form in formats]
    recipe = f", in pandas by {own} = {reads[0]}" if reads else ""
    if len(reads) > 1:
        recipe += f" if days come first, by {reads[1]} if months do ({quoted(example)} may be either: ask who wrote it)"
    return (
        f"{quoted(name)} looks like a time and cannot be read as one, so that {so}. Write times as 2026-03-01 14:30 "
        f"(ISO 8601){recipe}, or as integers since 1970, and run this again; or say {else_}."
    )
