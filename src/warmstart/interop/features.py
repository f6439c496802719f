"""Named features with weights: their canonical order, the key they share, and how text writes them.

A name is ``feature``, or ``namespace^feature`` as Vowpal Wabbit's audits write it; a feature outside any namespace
whose own name holds a ``^`` begins with one. Equal features, in whatever order they are written, have one canonical
form and so one key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import md5
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

# What Vowpal Wabbit's text gives a meaning, what would break a line, and the escape character itself.
SPECIAL = re.compile(r"[\s:|%\x00-\x1f\x7f\x85]")
SEPARATOR, EMPTY = "^", "%"
# Rows of a window that are brought here and written at a time.
ROWS = 20_000


class Features(NamedTuple):
    """Feature names in order, each once, with weights that are not zero."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def text(self) -> str:
        """Return the canonical text: escaped names, and weights that are not 1.

        >>> Features(("big ad", "price"), (1.0, 0.5)).text
        'big%20ad price:0.5'
        """
        names = self.words
        if SPECIAL.search("".join(names)):
            names = tuple(map(escape, names))
        pairs = zip(names, self.weights, strict=True)
        return " ".join([name if weight == 1 else f"{name}:{weight!r}" for name, weight in pairs])

    @property
    def key(self) -> str:
        """Return the md5 of the canonical text, which identifies a context or an action."""
        return md5_key(self.text)


NO_FEATURES = Features((), ())


def canonical(pairs: Iterable[tuple[str, float]]) -> Features:
    """Return features in the order of their names, weights of equal names added up, weights of 0 left out.

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


def md5_key(text: str) -> str:
    """Return the md5 of a text in hexadecimal, the same on every machine."""
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def qualified(namespace: str, feature: str) -> str:
    """Return the name of a feature in a namespace.

    >>> qualified("user", "Tom"), qualified("", "Tom"), qualified("", "a^b")
    ('user^Tom', 'Tom', '^a^b')
    """
    return f"{namespace}{SEPARATOR}{feature}" if namespace or SEPARATOR in feature else feature


def split_qualified(name: str) -> tuple[str, str]:
    """Return the namespace and the feature of a name; undoes ``qualified``.

    >>> split_qualified("user^Tom"), split_qualified("Tom"), split_qualified("^a^b")
    (('user', 'Tom'), ('', 'Tom'), ('', 'a^b'))
    """
    namespace, separator, feature = name.partition(SEPARATOR)
    return (namespace, feature) if separator else ("", name)


def by_namespace(features: Features) -> Iterable[tuple[str, Sequence[tuple[str, float]]]]:
    """Return each namespace with its features and weights; the default namespace first."""
    namespaces: dict[str, list[tuple[str, float]]] = {}
    for name, weight in zip(features.words, features.weights, strict=True):
        namespace, feature = split_qualified(name)
        namespaces.setdefault(namespace, []).append((feature, weight))
    return sorted(namespaces.items())


def escape(text: str) -> str:
    """Percent-encode what Vowpal Wabbit's text cannot hold (%XX, the bytes of UTF-8); empty text becomes %.

    >>> escape("cold brew: 50%"), escape("")
    ('cold%20brew%3A%2050%25', '%')
    """
    return SPECIAL.sub(_percent_encoded, text) or EMPTY


def unescape(text: str) -> str:
    """Undo ``escape``."""
    if text == EMPTY:
        return ""
    return unquote_to_bytes(text).decode() if "%" in text else text


def unescape_qualified(name: str) -> str:
    """Undo ``escape`` in the namespace and in the feature of a name."""
    if "%" not in name:
        return name
    namespace, feature = split_qualified(name)
    return qualified(unescape(namespace) if namespace else "", unescape(feature))


def format_number(value: float) -> str:
    """Write a number so that it reads back the same, and -0 as 0."""
    whole = int(value) if abs(value) < 1e15 else None
    return str(whole) if whole == value else repr(float(value))


def _percent_encoded(match: re.Match[str]) -> str:
    return _encoded(match.group())


@lru_cache(maxsize=1_024)
def _encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
