"""Columns that look like a unit, in a log that names none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warmstart.engine import open_some_columns
from warmstart.results import PossibleUnit

if TYPE_CHECKING:
    from warmstart.core import Columns
    from warmstart.events import Events

NOUNS = frozenset(
    "user visitor customer member session household device cookie account patient player client kunde kunden nutzer "  # noqa: SIM905
    "benutzer besucher mitglied utilisateur visiteur usuario cliente visitante".split()
)
IDS = frozenset("id ids key uid uuid guid hash pk no nr number code".split())  # noqa: SIM905
BEFORE = frozenset("full hashed anonymous anon unique web app end raw internal external encrypted".split())  # noqa: SIM905
# Whoever comes back has so many events on average, and is one of more than so many.
LEAST_EVENTS, HANDFUL = 1.5, 10
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def possible_units(events: Events) -> tuple[PossibleUnit, ...]:
    """Return the columns of a log's source that are named like a unit and whose values repeat, the most telling first.

    One aggregate over columns with such names; nothing where the source cannot be opened again, or not at little cost.
    The whole source is counted, not only the window.
    """
    taken = _taken(events.columns)
    try:
        opened = open_some_columns(
            events.engine, events.log.origin, lambda name: name not in taken and names_a_unit(name)
        )
        if opened is None:
            return ()
        columns = [name for name in opened.table.columns if not opened.table[name].type().is_nested()]
        counts = {f"{name}_n": opened.table[name].count() for name in columns}
        counts |= {f"{name}_values": opened.table[name].nunique() for name in columns}
        sums = events.engine.fetch(opened.table.agg(**counts))[0]
    except Exception:  # noqa: BLE001  a hint is not worth failing an audit, whatever a source or a driver says
        return ()
    given = dict(zip(opened.table.columns, opened.names, strict=True))
    results = [
        PossibleUnit(given[name], values, sums[f"{name}_n"] / values)
        for name in columns
        if (values := sums[f"{name}_values"]) > HANDFUL and sums[f"{name}_n"] >= LEAST_EVENTS * values
    ]
    return tuple(sorted(results, key=lambda one: -one.values))


def names_a_unit(name: str) -> bool:
    """Tell whether a column's name is that of someone or something that comes back, or of its id.

    >>> [names_a_unit(name) for name in ("user_id", "fullVisitorId", "Customer Number", "USERID", "uid")]
    [True, True, True, True, True]
    >>> [names_a_unit(name) for name in ("user_agent", "device_type", "clicks_per_user", "page", "id", "abuser")]
    [False, False, False, False, False, False]
    """
    if name.lower() == "uid":
        return True
    words = [part for word in WORD.findall(name) for part in _parted(word.lower())]
    nouns = [word for word in words if word in NOUNS]
    if not nouns:
        return False
    start = words.index(nouns[0])
    return set(words[:start]) <= BEFORE and set(words[start:]) <= NOUNS | IDS


def _parted(word: str) -> list[str]:
    """Part a noun from the id that is written in one word with it; the plural is the noun too."""
    for noun in NOUNS:
        if word.startswith(noun) and word[len(noun) :] in IDS:
            return [noun, word[len(noun) :]]
    return [word.removesuffix("s") if word.removesuffix("s") in NOUNS else word]


def _taken(columns: Columns) -> set[str]:
    used = (columns.action, columns.reward, columns.time, columns.propensity, columns.epoch)
    return {name for name in used if name is not None}
