"""Vowpal Wabbit's text format: lines of ``--cb``, blocks of lines of ``--cb_adf``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from warmstart.core.errors import MalformedLineError
from warmstart.core.text import quoted
from warmstart.interop.vw.lines import Malformed, in_utf8
from warmstart.interop.vw.records import Example
from warmstart.interop.vw.text_features import REMEMBERED, BadTextError, SideReader

T = TypeVar("T")
SHARED = "shared"
TOUCHES = "touches the bar, where Vowpal Wabbit reads a tag"


@dataclass(frozen=True, slots=True)
class Label:
    """``action[:cost[:probability]]``"""

    action: str
    cost: float | None
    probability: float | None


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
