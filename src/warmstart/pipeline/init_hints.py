"""What to do about columns of a log that cannot be used as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isfinite

from warmstart.auditing import ColumnProfile, says_yes
from warmstart.core import ColumnError, UsageError, quoted, shortened
from warmstart.engine import NULL_WORDS

# A decimal comma: no three digits behind it, or points before it.
COMMA = re.compile(r",[0-9]{1,2}(?![0-9])|,[0-9]{4}|[.][0-9]{3},")
# Of fewer other values all are named.
MANY = 5
AGAIN = "write that to a file, and run this again."


def not_a_number(profile: ColumnProfile) -> UsageError:
    """Return what to do about a reward that is text, or a time, or no plain value at all."""
    if profile.kind == "text":
        what, hint = (
            f"is text ({', '.join(map(quoted, profile.examples))})",
            f"Make it one, {_recipe(profile)}; {AGAIN}",
        )
    else:
        what = f"has type {profile.type}"
        hint = "A reward is a number or a boolean: name another column, or make one."
    return UsageError(f"The reward {quoted(profile.name)} {what}, and a reward is a number.", hint)


def _recipe(profile: ColumnProfile) -> str:
    """Say how text becomes a number, such that what is unknown stays unknown."""
    own, column = f"log[{shortened(profile.name)!r}]", f'"{shortened(profile.name)}"'
    shown = profile.values or profile.examples
    words = [value for value in shown if not _is_number(value)]
    if 0 < len(words) < len(shown):
        unknown = ", ".join(map(quoted, words[:3]))
        return (
            f"in pandas by {own} = pandas.to_numeric({own}, errors='coerce'), in SQL by TRY_CAST({column} AS DOUBLE), "
            f"if {unknown} means that it is not known"
        )
    if profile.looks_like_numbers:
        mark, point = (",", ".str.replace(',', '.')") if any(map(COMMA.search, profile.examples)) else (".", "")
        return f"in pandas by {own} = {own}.str.replace(r'[^0-9{mark}-]', '', regex=True){point}.astype(float)"
    yes = next((value for value in shown if says_yes(value)), (shown or ("yes",))[0])
    others = [value for value in profile.values if value != yes and value not in NULL_WORDS]
    if not 0 < len(others) < MANY:
        return (
            f"in pandas by {own} = ({own} == {yes!r}).where({own}.notna()), in SQL by ({column} = {_literal(yes)})::INT"
        )
    numbers = ", ".join(f"{value!r}: {int(value == yes)}" for value in (yes, *others))
    cases = " ".join(f"WHEN {_literal(value)} THEN {int(value == yes)}" for value in (yes, *others))
    return f"in pandas by {own} = {own}.map({{{numbers}}}), in SQL by CASE {column} {cases} END"


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def no_key(profile: ColumnProfile, role: str) -> ColumnError:
    """Return what to do about a column of records or lists that was named for a role."""
    return ColumnError(
        f"Column {quoted(profile.name)} has type {shortened(profile.type)}, which cannot be the {role}.",
        flattened([profile.name]),
    )


def flattened(names: Sequence[str]) -> str:
    """Say how columns of records become columns of values."""
    which, first = ", ".join(quoted(name) for name in names[:5]), shortened(names[0])
    return f"Make columns of what is in {which}, in pandas by pandas.json_normalize, in SQL by {first}.FIELD."


def records_in(profiles: Iterable[ColumnProfile]) -> str:
    """Say what to do about columns of records and lists, if there are any."""
    nested = [one.name for one in profiles if one.kind == "other" and ("struct" in one.type or "array" in one.type)]
    return f" {flattened(nested)}" if nested else ""


def no_context(columns: Sequence[str], profiles: Iterable[ColumnProfile]) -> UsageError:
    """Return what to do about a log without a column that could be a context."""
    return UsageError(
        "No column looks like a context.",
        f"Name it: --context. There are {', '.join(map(quoted, columns))}. If nothing was looked at (an A/B test, a "
        "bandit without contexts), make a column that is the same in every row, in pandas by log['everyone'] = 1, and "
        f"name that.{records_in(profiles)}",
    )
