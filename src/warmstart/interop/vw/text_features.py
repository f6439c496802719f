"""The features in a line of Vowpal Wabbit's text format: what stands after the first bar."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from warmstart.core import quoted
from warmstart.interop.feature_table import FeatureTable
from warmstart.interop.features import SEPARATOR, Features, canonical, md5_key, qualified, unescape, unescape_qualified
from warmstart.interop.lines import BadLineError

# So many texts are remembered with their keys before all are forgotten, to bound memory.
REMEMBERED = 50_000
# Namespaces without weights, names in ASCII of which nothing has a meaning or needs an escape, weights that look like
# numbers.
NAME = r"[!-$&-9;-\]_-{}~]"
NAMESPACE = rf"{NAME}*(?: +(?:{NAME}+(?::[-+.0-9eE]+)?)?)*"
PLAIN = re.compile(rf"{NAMESPACE}(?:\|{NAMESPACE})*")


class TextFeatures:
    """Reads the features of contexts or of actions into a feature table, and gives each text its key.

    ``from_export``: the tag is the key, and escapes are undone, as in what ``export`` wrote.
    """

    def __init__(self, table: FeatureTable, *, from_export: bool = False) -> None:
        self._table = table
        self._from_export = from_export
        self._keys: dict[str | None, str] = {}

    def key(self, text: str, tag: str | None) -> str:
        """Return the key of the features in a text; they are added to the table when they are new."""
        remembered = tag if self._from_export else text
        key = self._keys.get(remembered)
        if key is None:
            if self._from_export:
                key = add_exported(self._table, parse_features(text), tag)
            else:
                canonical_text, features = read_features(text)
                key = md5_key(canonical_text)
                self._table.add(key, features, tag)
            if len(self._keys) >= REMEMBERED:
                self._keys.clear()
            self._keys[remembered] = key
        return key


def add_exported(table: FeatureTable, pairs: Iterable[tuple[str, float]], tag: str | None) -> str:
    """Add features that ``export`` wrote to a table: the tag is their key; undo the escapes in it and in names."""
    if tag is None:
        raise BadLineError("it has no tag to take the key from")
    try:
        key = unescape(tag)
        features = canonical([(unescape_qualified(name), weight) for name, weight in pairs])
    except UnicodeDecodeError as error:
        raise BadLineError("an escape in it is not UTF-8") from error
    table.add(key, features)
    return key


def check_namespace(name: str) -> None:
    """Refuse a namespace that cannot be told from a name in it."""
    if SEPARATOR in name:
        raise BadLineError(f"the namespace {quoted(name)} holds a ^, which stands between namespace and name")


def read_features(text: str) -> tuple[str, Features]:
    """Return the canonical text and the features of what stands after the first bar.

    >>> read_features("user Tom age:0.5 |item b a")[1].words
    ('item^a', 'item^b', 'user^Tom', 'user^age')
    """
    if ":" in text:
        plain = PLAIN.fullmatch(text) is not None
    else:
        # The same question in a quarter of the time.
        plain = text.isascii() and text.isprintable() and "^" not in text and "%" not in text
    if plain and (result := _read_plain(text)) is not None:
        return result
    features = canonical(parse_features(text))
    return features.text, features


def _read_plain(text: str) -> tuple[str, Features] | None:
    """Read features in which nothing needs an escape, as most are, quickly; None where ``parse_features`` is needed."""
    words: list[str] = []
    weights: list[float] = []
    for part in text.split("|"):
        namespace, _, rest = part.partition(" ")
        tokens = rest.split(" ")
        if "" in tokens:
            tokens = [token for token in tokens if token]
        if ":" in rest:
            if rest.count(":") < len(tokens):
                tokens = [token if ":" in token else f"{token}:1" for token in tokens]
            flat = ":".join(tokens).split(":")
            tokens = flat[::2]
            try:
                weights += map(float, flat[1::2])
            except ValueError:
                return None
        else:
            weights += [1.0] * len(tokens)
        words += [f"{namespace}^{token}" for token in tokens] if namespace else tokens
    summed = dict(zip(words, weights, strict=True))
    if len(summed) < len(words) or 0.0 in weights or not math.isfinite(sum(weights)):
        return None
    if ":" not in text:
        words.sort()
        return " ".join(words), Features(tuple(words), tuple(weights))
    pairs = sorted(summed.items())
    canonical_text = " ".join([name if weight == 1 else f"{name}:{weight!r}" for name, weight in pairs])
    return canonical_text, Features(tuple([name for name, _ in pairs]), tuple([weight for _, weight in pairs]))


def parse_features(text: str) -> Iterator[tuple[str, float]]:
    """Give names and weights of the features after the first bar, in the order in which they are written."""
    for part in text.replace("\t", " ").split("|"):
        head, *tokens = part.split(" ")
        namespace, scale = _namespace(head)
        unnamed = 0
        for token in filter(None, tokens):
            name, colon, rest = token.partition(":")
            if not colon:
                yield qualified(namespace, token), scale
                continue
            if not name:
                # Vowpal Wabbit numbers features without a name.
                name, unnamed = str(unnamed), unnamed + 1
            if not rest or ":" in rest:
                raise BadLineError(f"the feature {quoted(token)} has {'two colons' if rest else 'no value'}")
            value = _number(rest, "the feature", token)
            if value is None:
                # A value that is text is a part of the name.
                name, value = f"{name}^{rest}", 1.0
            yield qualified(namespace, name), value * scale


def _namespace(token: str) -> tuple[str, float]:
    name, colon, rest = token.partition(":")
    check_namespace(name)
    scale = _number(rest, "the weight of the namespace", token) if colon else 1.0
    if scale is None:
        raise BadLineError(f"the weight of the namespace {quoted(token)} is no number")
    return name, scale


def _number(text: str, what: str, token: str) -> float | None:
    """Return a finite number, or None for other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        raise BadLineError(f"{what} {quoted(token)} is not finite")
    return value
