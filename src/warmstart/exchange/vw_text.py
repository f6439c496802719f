"""Vowpal Wabbit's text format: lines of ``--cb``, blocks of lines of ``--cb_adf``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from warmstart.core.errors import MalformedLineError
from warmstart.core.text import quoted
from warmstart.exchange.lines import Malformed, in_utf8
from warmstart.exchange.log import Example
from warmstart.exchange.side import Side
from warmstart.exchange.words import Features, canonical, key_of, unescaped, unescaped_word, word

T = TypeVar("T")
SHARED = "shared"
# So many texts are remembered with their keys; then all are forgotten, to keep memory flat.
REMEMBERED = 50_000
# Namespaces without weights, names in ASCII of which nothing has a meaning or needs an escape, weights that look like
# numbers.
NAME = r"[!-$&-9;-\]_-{}~]"
NAMESPACE = rf"{NAME}*(?: +(?:{NAME}+(?::[-+.0-9eE]+)?)?)*"
PLAIN = re.compile(rf"{NAMESPACE}(?:\|{NAMESPACE})*")
TOUCHES = "touches the bar, where Vowpal Wabbit reads a tag"


class BadTextError(Exception):
    """What is wrong with a line, before it is known which line it is."""


@dataclass(frozen=True, slots=True)
class Label:
    """``action[:cost[:probability]]``"""

    action: str
    cost: float | None
    probability: float | None


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


class Remembered(Generic[T]):
    """A function of a text that remembers its last answers."""

    def __init__(self, function: Callable[[str], T]) -> None:
        self._function = function
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        """Return the answer for a text."""
        found = self._known.get(text)
        if found is None:
            found = self._function(text)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[text] = found
        return found


def _labels(head: str) -> tuple[tuple[Label, ...], str | None]:
    """Read what stands before the first bar: labels and a tag."""
    tokens = head.replace("\t", " ").split(" ")
    tag = tokens.pop() or None
    tokens = [token for token in tokens if token]
    if tag is not None and not tag.startswith("'") and _looks_like_a_label(tag):
        raise BadTextError(f"{quoted(tag)} {TOUCHES}; put a space between")
    if tag is None and tokens and tokens[-1].startswith("'"):
        tag = tokens.pop()
    return tuple(map(_label, tokens)), None if tag is None else tag.removeprefix("'")


def _looks_like_a_label(text: str) -> bool:
    if text == SHARED:
        return True
    try:
        _label(text)
    except BadTextError:
        return False
    return True


def _label(token: str) -> Label:
    action, *numbers = token.split(":")
    if action == SHARED and not numbers:
        return Label(SHARED, None, None)
    if not (action.isascii() and action.isdigit()) or len(numbers) > 2:
        raise BadTextError(f"the label {quoted(token)} is not action:cost[:probability]")
    try:
        values = [float(text) for text in numbers]
    except ValueError as error:
        raise BadTextError(f"the label {quoted(token)} holds no number where one is needed") from error
    if not all(map(math.isfinite, values)):
        raise BadTextError(f"the label {quoted(token)} is not finite")
    probability = values[1] if len(values) > 1 else None
    if probability is not None and not 0 < probability <= 1:
        raise BadTextError(f"the probability of {quoted(token)} is not in (0, 1]")
    return Label(action, values[0] if values else None, probability)


def observed(labels: tuple[Label, ...]) -> Label | None:
    """Return the label of what was shown: the one with a cost or, of several, the one with a probability too."""
    costed = [label for label in labels if label.cost is not None]
    if len(costed) > 1:
        costed = [label for label in costed if label.probability is not None]
        if len(costed) != 1:
            raise BadTextError("several actions have costs, and not exactly one has a probability: which was shown?")
    return costed[0] if costed else None


def read_cb(
    path: Path,
    lines: Iterable[tuple[int, str]],
    malformed: Malformed,
    contexts: SideReader,
    *,
    choice_first: bool,
) -> Iterator[Example]:
    """Read lines of ``--cb``: the words are the context, the label's number is the action."""
    heads = Remembered(_choosing if choice_first else _cb_head)
    for number, raw in lines:
        if not raw or raw.isspace():
            continue
        try:
            head, bar, text = (raw if raw.isascii() else in_utf8(path, number, raw)).partition("|")
            if not bar:
                raise BadTextError("it has no bar, so no features")  # noqa: TRY301
            label, tag = heads(head)
            yield Example(contexts.key(text, tag), *label)
        except BadTextError as error:
            malformed.met(MalformedLineError(str(path), number, str(error)))
        except MalformedLineError as error:
            malformed.met(error)


CbLabel = tuple[str | None, float | None, float | None, list[str] | None, str | None]


def _cb_head(head: str) -> tuple[CbLabel, str | None]:
    """Return action, cost, probability, feasible actions and choice, and the tag."""
    labels, tag = _labels(head)
    return _cb_label(labels, None), tag


def _choosing(head: str) -> tuple[CbLabel, str | None]:
    """Return the same for a line that begins with a policy's choice."""
    labels, tag = _labels(head)
    if not labels or labels[0].cost is not None:
        raise BadTextError("it does not begin with a policy's choice")
    return _cb_label(labels[1:], labels[0].action), tag


def _cb_label(labels: tuple[Label, ...], choice: str | None) -> CbLabel:
    if any(label.action in (SHARED, "0") for label in labels):
        raise BadTextError("actions are numbered from 1 in --cb; is it a --cb_adf log?")
    shown = observed(labels)
    feasible = [label.action for label in labels] if len(labels) > 1 else None
    if shown is None:
        return None, None, None, feasible, choice
    return shown.action, shown.cost, shown.probability, feasible, choice


Heads = Remembered[tuple[tuple[Label, ...], str | None]]


def read_adf(
    path: Path,
    lines: Iterable[tuple[int, str]],
    malformed: Malformed,
    contexts: SideReader,
    actions: SideReader,
) -> Iterator[Example]:
    """Read blocks of ``--cb_adf``: the shared line is the context, every other line an action."""
    labels: Heads = Remembered(_labels)
    for block in _blocks(lines):
        try:
            yield _adf_block(path, block, labels, contexts, actions)
        except MalformedLineError as error:
            malformed.met(error)


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if line and not line.isspace():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _adf_block(
    path: Path, block: list[tuple[int, str]], reader: Heads, contexts: SideReader, actions: SideReader
) -> Example:
    found = _Block(reader, contexts, actions)
    for number, line in block:
        try:
            found.add(in_utf8(path, number, line))
        except BadTextError as error:
            raise MalformedLineError(str(path), number, str(error)) from error
    if not found.feasible:
        raise MalformedLineError(str(path), block[0][0], "the block has no action")
    return found.example()


class _Block:
    """What is known of a block so far."""

    def __init__(self, reader: Heads, contexts: SideReader, actions: SideReader) -> None:
        self._reader, self._contexts, self._actions = reader, contexts, actions
        self._context: str | None = None
        self._shown: Label | None = None
        self._action: str | None = None
        self.feasible: list[str] = []

    def add(self, line: str) -> None:
        """Take the next line."""
        head, bar, text = line.partition("|")
        if not bar:
            raise BadTextError("it has no bar, so no features")
        labels, tag = self._reader(head)
        if len(labels) > 1:
            raise BadTextError("it has more than one label")
        label = labels[0] if labels else None
        if label is not None and label.action == SHARED:
            if self.feasible or self._context is not None:
                raise BadTextError("'shared' does not stand on the first line of a block")
            self._context = self._contexts.key(text, tag)
            return
        self.feasible.append(self._actions.key(text, tag))
        if label is not None and label.cost is not None:
            if self._shown is not None:
                raise BadTextError("a second action of the block has a cost: which was shown?")
            self._shown, self._action = label, self.feasible[-1]

    def example(self) -> Example:
        """Return the event; without a shared line, nothing was known."""
        context = self._contexts.key("", None) if self._context is None else self._context
        if self._shown is None:
            return Example(context, None, feasible=self.feasible)
        return Example(context, self._action, self._shown.cost, self._shown.probability, self.feasible)
