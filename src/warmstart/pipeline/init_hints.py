"""What to do about columns of a log that cannot be used as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warmstart.auditing import ColumnProfile, says_yes
from warmstart.core import ColumnError, UsageError, quoted, shortened

AGAIN = "write that to a file, and run this again."


def not_a_number(profile: ColumnProfile) -> UsageError:
    """Return what to do about a reward that is text, or a time, or no plain value at all."""
    name, words = shortened(profile.name), ", ".join(map(quoted, profile.examples))
    is_text = profile.kind == "text"
    what = f"is text ({words})" if is_text else f"has type {profile.type}"
    own = f"log[{name!r}]"
    if is_text and profile.looks_like_numbers:
        hint = (
            f"Make it one, in pandas by {own} = {own}.str.replace(r'[^0-9.-]', '', regex=True).astype(float); {AGAIN}"
        )
    elif is_text:
        yes = next((value for value in profile.values if says_yes(value)), (profile.examples or ("yes",))[0])
        hint = f"Make it one, in pandas by {own} = {own} == {yes!r}, in SQL by (\"{name}\" = '{yes}')::INT; {AGAIN}"
    else:
        hint = "A reward is a number or a boolean: name another column, or make one."
    return UsageError(f"The reward {quoted(profile.name)} {what}, and a reward is a number.", hint)


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
