"""The features of a line of Vowpal Wabbit's text, from the first bar on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from warmstart.core.text import quoted
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.features import Features, canonical, key_of, unescaped, unescaped_word, word

# So many texts are remembered with their keys; then all are forgotten, to keep memory flat.
REMEMBERED = 50_000
# Namespaces without weights, names in ASCII of which nothing has a meaning or needs an escape, weights that look like
# numbers.
NAME = r"[!-$&-9;-\]_-{}~]"
NAMESPACE = rf"{NAME}*(?: +(?:{NAME}+(?::[-+.0-9eE]+)?)?)*"
PLAIN = re.compile(rf"{NAMESPACE}(?:\|{NAMESPACE})*")


class BadTextError(Exception):
    """What is wrong with a line, before it is known which line it is."""


class SideReader:
    """Reads the features of one side, and gives each text its key.

    ``by_tag``: the tag is the key, and escapes are undone: what ``export`` wrote.
    """

    def __init__(self, side: Side, *, by_tag: bool = False) -> None:
        self._side = side
        self._by_tag = by_tag
        self._keys: dict[str, str] = {}

    def key(self, text: str, tag: str | None) -> str:
        """Return the key of the features in a text; a new one goes to the side's table."""
        if self._by_tag:
            return self._tagged(text, tag)
        key = self._keys.get(text)
        if key is None:
            spelled, features = features_of(text)
            key = key_of(spelled)
            self._remember(text, key)
            self._side.add(key, features, tag)
        return key

    def _tagged(self, text: str, tag: str | None) -> str:
        if tag is None:
            raise BadTextError("it has no tag to take the key from")
        key = self._keys.get(tag)
        if key is None:
            try:
                key = unescaped(tag)
                plain = [(unescaped_word(spelled), weight) for spelled, weight in parsed(text)]
            except UnicodeDecodeError as error:
                raise BadTextError("an escape in it is not UTF-8") from error
            self._remember(tag, key)
            self._side.add(key, canonical(plain))
        return key

    def _remember(self, text: str, key: str) -> None:
        if len(self._keys) >= REMEMBERED:
            self._keys.clear()
        self._keys[text] = key


def features_of(text: str) -> tuple[str, Features]:
    """Read what stands after the first bar; return the canonical text and the features.

    >>> features_of("user Tom age:0.5 |item b a")[1].words
    ('item^a', 'item^b', 'user^Tom', 'user^age')
    """
    if ":" in text:
        found = _plain(text) if PLAIN.fullmatch(text) else None
    else:
        # The same question in a quarter of the time.
        plain = text.isascii() and text.isprintable() and "^" not in text and "%" not in text
        found = _plain(text) if plain else None
    if found is None:
        features = canonical(parsed(text))
        return features.text, features
    return found


def _plain(text: str) -> tuple[str, Features] | None:
    """Read features in which nothing needs an escape, as most are, the quick way; None where the long way is needed."""
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
    spelled = " ".join([name if weight == 1 else f"{name}:{weight!r}" for name, weight in pairs])
    return spelled, Features(tuple([name for name, _ in pairs]), tuple([weight for _, weight in pairs]))


def parsed(text: str) -> Iterator[tuple[str, float]]:
    """Give the words and weights of what stands after the first bar, as they come."""
    for part in text.replace("\t", " ").split("|"):
        tokens = part.split(" ")
        namespace, scale = _namespace(tokens[0])
        prefix = f"{namespace}^" if namespace else ""
        unnamed = 0
        for token in tokens[1:]:
            if not token:
                continue
            if ":" not in token:
                yield (prefix + token if prefix else word("", token)), scale
                continue
            name, _, rest = token.partition(":")
            if not name:
                # Vowpal Wabbit numbers features without a name.
                name, unnamed = str(unnamed), unnamed + 1
            value = _value(rest, token)
            if value is None:
                name, value = f"{name}^{rest}", 1.0
            yield word(namespace, name), value * scale


def _namespace(token: str) -> tuple[str, float]:
    name, colon, rest = token.partition(":")
    if "^" in name:
        raise BadTextError(f"the namespace {quoted(name)} holds a ^, which stands between namespace and name")
    if not colon:
        return name, 1.0
    try:
        scale = float(rest)
    except ValueError as error:
        raise BadTextError(f"the weight of the namespace {quoted(token)} is no number") from error
    if not math.isfinite(scale):
        raise BadTextError(f"the weight of the namespace {quoted(token)} is not finite")
    return name, scale


def _value(text: str, token: str) -> float | None:
    """Return a feature's number; None for a value that is text, which Vowpal Wabbit takes as a name."""
    if ":" in text:
        raise BadTextError(f"the feature {quoted(token)} has two colons")
    if not text:
        raise BadTextError(f"the feature {quoted(token)} has no value")
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        raise BadTextError(f"the feature {quoted(token)} is not finite")
    return value
