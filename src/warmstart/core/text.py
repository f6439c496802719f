"""Text from a log made safe to show: control characters and direction overrides become escapes."""

from __future__ import annotations

LONGEST_SHOWN = 60


def printable(text: object) -> str:
    r"""Escape what a terminal would obey instead of show.

    >>> print(printable("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def shortened(text: object, longest: int = LONGEST_SHOWN) -> str:
    """Make printable, and cut in the middle when too long."""
    shown = printable(text)
    if len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def quoted(value: object) -> str:
    """Show a name or value inside a message.

    >>> print(quoted("page"), quoted(7))
    'page' 7
    """
    return f"'{shortened(value)}'" if isinstance(value, str) else shortened(value)


def first_lines(error: Exception, lines: int = 1) -> str:
    """Return the beginning of another library's message."""
    parts = [line.strip() for line in str(error).strip().split("\n") if line.strip()]
    return printable("; ".join(parts[:lines]))


def counted(number: float, noun: str) -> str:
    """Spell a count with its noun.

    >>> counted(1, "event"), counted(12000, "event")
    ('1 event', '12,000 events')
    """
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"
