"""Text to show: names from a log made safe (control characters become escapes), counts and shares in words."""

from __future__ import annotations

# Text of so many words is free text, and so is long text that may be in a language without spaces; a message quotes so
# many characters of it.
FREE_WORDS, LONGEST_NAME, BEGINNING = 5, 24, 12


def is_unicode(text: str) -> bool:
    r"""Tell whether text can be written as UTF-8: file names and arguments of other bytes cannot.

    >>> is_unicode("é"), is_unicode("\udcff")
    (True, False)
    """
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def printable(text: object) -> str:
    r"""Escape what a terminal would obey instead of show.

    >>> print(printable("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def shortened(text: object, longest: int = 60) -> str:
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


def excerpt(value: object) -> str:
    """Show a value of the log inside a message; of free text, such as a prompt, the first characters alone.

    >>> print(excerpt("law"), excerpt("my doctor says that I am ill"), excerpt(0.5))
    'law' 'my doctor sa…' 0.5
    """
    if not isinstance(value, str):
        return quoted(value)
    free = len(value.split()) >= FREE_WORDS or (len(value) > LONGEST_NAME and not value.isascii())
    return quoted(f"{value[:BEGINNING]}…" if free else value)


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


def percent(share: float | None) -> str:
    """Show a share with as many digits as it deserves; what sums in another order may lack is nothing.

    >>> percent(0.5), percent(0.0123), percent(0.05), percent(0.00004), percent(0.9971), percent(None)
    ('50 %', '1.2 %', '5 %', '0.004 %', '99.7 %', '-')
    >>> percent(1 - 1e-9), percent(1 - 1e-15), percent(1e-17)
    ('nearly 100 %', '100 %', '0 %')
    """
    if share is None:
        return "-"
    share = round(share, 12)
    if 0.995 <= share < 1:
        return "nearly 100 %" if share > 0.9995 else f"{100 * share:.1f} %"
    size = abs(share)
    digits = 0 if size >= 0.1 or size == 0 else 1 if size >= 0.01 else 2 if size >= 0.001 else 3
    return f"{f'{100 * share:.{digits}f}'.removesuffix('.0')} %"


def more(share: float | None) -> str:
    """Show a relative gain.

    >>> more(0.123), more(25.0)
    ('12 % more', '26 times as much')
    """
    if share is None:
        return "-"
    return f"{percent(share)} more" if share < 10 else f"{1 + share:,.0f} times as much"
