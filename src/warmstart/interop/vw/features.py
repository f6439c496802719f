"""Features as words with weights: their names, their canonical order, their key, and how text holds them.

A word is ``name``, or ``namespace^name``; a name of no namespace that holds a ``^`` begins with one. Equal features, in
whatever order they are written, have one canonical form and so one key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from hashlib import md5
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

# What Vowpal Wabbit's text gives a meaning, what would break a line, and the sign of an escape itself.
NOT_IN_TEXT = re.compile(r"[\s:|%\x00-\x1f\x7f\x85]")
BETWEEN, NOTHING = "^", "%"


class Features(NamedTuple):
    """Words in order, each once, with weights that are not zero."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def text(self) -> str:
        """Return them as text: escaped words, and weights that are not 1.

        >>> Features(("big ad", "price"), (1.0, 0.5)).text
        'big%20ad price:0.5'
        """
        words = self.words
        if NOT_IN_TEXT.search("".join(words)):
            words = tuple(map(escaped, words))
        pairs = zip(words, self.weights, strict=True)
        return " ".join([spelled if weight == 1 else f"{spelled}:{weight!r}" for spelled, weight in pairs])

    @property
    def key(self) -> str:
        """Return what names them: the md5 of their text."""
        return key_of(self.text)


def canonical(pairs: Iterable[tuple[str, float]]) -> Features:
    """Put words in order, add up the weights of equal ones, and leave out those of weight 0, which are no features.

    >>> canonical([("b", 2.0), ("a", 1.0), ("b", 1.0), ("c", 0.0)])
    Features(words=('a', 'b'), weights=(1.0, 3.0))
    """
    ordered = sorted(pairs)
    summed = dict(ordered)
    if len(summed) < len(ordered):
        summed = {name: math.fsum(w for _, w in same) for name, same in groupby(ordered, key=itemgetter(0))}
    if 0.0 in summed.values():
        summed = {name: weight for name, weight in summed.items() if weight}
    return Features(tuple(summed), tuple(summed.values()))


def key_of(text: str) -> str:
    """Return the md5 of a text, which the same text has everywhere."""
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def word(namespace: str, name: str) -> str:
    """Name a feature of a namespace.

    >>> word("user", "Tom"), word("", "Tom"), word("", "a^b")
    ('user^Tom', 'Tom', '^a^b')
    """
    return f"{namespace}{BETWEEN}{name}" if namespace or BETWEEN in name else name


def namespace_and_name(spelled: str) -> tuple[str, str]:
    """Take a word apart.

    >>> namespace_and_name("user^Tom"), namespace_and_name("Tom"), namespace_and_name("^a^b")
    (('user', 'Tom'), ('', 'Tom'), ('', 'a^b'))
    """
    namespace, between, name = spelled.partition(BETWEEN)
    return (namespace, name) if between else ("", spelled)


def escaped(text: str) -> str:
    """Write the characters that text cannot hold as %XX, the bytes of their UTF-8 in hexadecimal, and nothing as %.

    >>> escaped("cold brew: 50%"), escaped("")
    ('cold%20brew%3A%2050%25', '%')
    """
    if not text:
        return NOTHING
    return NOT_IN_TEXT.sub(_percent, text) if NOT_IN_TEXT.search(text) else text


def unescaped(text: str) -> str:
    """Undo ``escaped``."""
    if text == NOTHING:
        return ""
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass") if "%" in text else text


def unescaped_word(spelled: str) -> str:
    """Undo ``escaped`` in the namespace and in the name of a word."""
    if NOTHING not in spelled:
        return spelled
    namespace, name = namespace_and_name(spelled)
    return word(unescaped(namespace) if namespace else "", unescaped(name))


def number(value: float) -> str:
    """Write a number so that it reads back the same, and -0 as 0."""
    whole = int(value) if abs(value) < 1e15 else None
    return str(whole) if whole == value else repr(float(value))


def grouped(features: Features) -> Iterable[tuple[str, Sequence[tuple[str, float]]]]:
    """Give each namespace with its names and weights; the nameless one first."""
    parts: dict[str, list[tuple[str, float]]] = {}
    for spelled, weight in zip(features.words, features.weights, strict=True):
        namespace, name = namespace_and_name(spelled)
        parts.setdefault(namespace, []).append((name, weight))
    return sorted(parts.items())


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))
