"""What can go wrong, as types. Each message says what and where; the hint says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from warmstart.core.text import printable, quoted


class WarmstartError(Exception):
    """Anything this library refuses to do. Carries a hint, a code that ``explain`` knows, and the exit code.

    Kinds of errors are subclasses, each with a ``code`` of its own.
    """

    exit_code = 1
    code = "WS200"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class DataError(WarmstartError):
    """Something in the data."""


class UsageError(WarmstartError, ValueError):
    """The call or the command is wrong, whatever the data."""

    exit_code = 2
    code = "WS301"


class SettingsError(UsageError):
    """A settings file (``warmstart.toml``) that cannot be used. Carries the file, and the line if it is known."""

    code = "WS302"

    def __init__(self, file: str, line: int | None, what: str, hint: str = "") -> None:
        where = file if line is None else f"{file}, line {line:,}"
        super().__init__(f"{where}: {what}", hint)
        self.file = file
        self.line = line


class SourceError(DataError):
    """A source is absent, empty or cannot be read."""

    code = "WS208"


class SavedFileError(SourceError):
    """A saved policy, result or monitor's file is damaged, was changed, or is no file of that kind."""

    code = "WS501"


class LaterVersionError(SavedFileError):
    """A saved file was written by a version of warmstart that this one cannot read."""

    code = "WS502"


class ColumnError(DataError):
    """A column is absent or has a type that cannot serve."""

    code = "WS209"


class MissingValueError(DataError):
    """Nulls, NaN or infinity where a value is needed."""

    code = "WS210"


class RewardRangeError(DataError):
    """Rewards, or values of another ``outcome``, outside its range."""

    code = "WS211"

    def __init__(self, message: str, hint: str = "", outcome: str = "") -> None:
        super().__init__(message, hint)
        self.outcome = outcome


class PropensityRangeError(DataError):
    """Logged propensities that are no probabilities."""

    code = "WS212"


class EmptyWindowError(DataError):
    """A window without events."""

    code = "WS213"


class DecisionError(DataError):
    """A decisions table that is not a policy."""

    code = "WS214"


class MalformedLineError(DataError):
    """A line of a text log that cannot be read. Carries the file, the line's number and what is wrong."""

    code = "WS215"

    def __init__(self, file: str, line: int, what: str, hint: str = "") -> None:
        super().__init__(f"{printable(file)}, line {line:,}: {what}.", hint)
        self.file = file
        self.line = line
        self.what = what


class OutputError(DataError):
    """A result cannot be written: the disk is full, or the place may not be written to."""

    code = "WS401"


class EngineError(DataError):
    """The engine gave up on a query."""

    code = "WS402"


class DeviceError(DataError):
    """A GPU was asked for and is not there, cannot be used, or has too little memory."""

    code = "WS404"


def no_such_column(name: str, available: Iterable[str], *, where: str) -> ColumnError:
    """Build the error for a column that is not there, with the nearest names."""
    names = list(available)
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    listed = near or names[:10]
    more = "" if near or len(names) <= 10 else f" and {len(names) - 10} more"
    lead = "Did you mean" if near else "Its columns are"
    hint = f"{lead} {', '.join(map(quoted, listed))}{more}{'?' if near else '.'}"
    return ColumnError(f"{where} has no column {quoted(name)}.", hint)


class WarmstartWarning(UserWarning):
    """Something that a user should know, and that stops nothing."""


def check_seed(seed: int) -> None:
    """Refuse a seed that generators of random numbers do not take."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"seed must be a whole number from 0 to {2**32 - 1:,}, and is {seed:,}.")
