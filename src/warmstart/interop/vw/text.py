"""Vowpal Wabbit's text format: lines of ``--cb``, blocks of lines of ``--cb_adf``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from typing import NamedTuple

from warmstart.core import quoted
from warmstart.interop.lines import BadLineError, LogFile, check_utf8
from warmstart.interop.records import Example
from warmstart.interop.vw.text_features import REMEMBERED, TextFeatures

SHARED = "shared"


class Label(NamedTuple):
    """``action[:cost[:probability]]``"""

    action: str
    cost: float | None = None
    probability: float | None = None


def _split_line(line: str) -> tuple[str, str]:
    """Return what stands before the first bar and after it: labels, and features."""
    labels, bar, features = line.partition("|")
    if not bar:
        raise BadLineError("it has no bar, so no features")
    return labels, features


def _labels(text: str) -> tuple[tuple[Label, ...], str | None]:
    """Return the labels and the tag of what stands before the first bar."""
    tokens = text.replace("\t", " ").split(" ")
    tag = tokens.pop() or None
    tokens = [token for token in tokens if token]
    if tag is not None and not tag.startswith("'") and _looks_like_a_label(tag):
        raise BadLineError(f"{quoted(tag)} touches the bar, where Vowpal Wabbit reads a tag; put a space between")
    if tag is None and tokens and tokens[-1].startswith("'"):
        tag = tokens.pop()
    return tuple(map(_label, tokens)), None if tag is None else tag.removeprefix("'")


def _looks_like_a_label(text: str) -> bool:
    try:
        _label(text)
    except BadLineError:
        return False
    return True


def _label(token: str) -> Label:
    action, *numbers = token.split(":")
    if action == SHARED and not numbers:
        return Label(SHARED)
    if not (action.isascii() and action.isdigit()) or len(numbers) > 2:
        raise BadLineError(f"the label {quoted(token)} is not action:cost[:probability]")
    try:
        values = [float(text) for text in numbers]
    except ValueError as error:
        raise BadLineError(f"the label {quoted(token)} holds no number where one is needed") from error
    if not all(map(math.isfinite, values)):
        raise BadLineError(f"the label {quoted(token)} is not finite")
    if len(values) > 1 and not 0 < values[1] <= 1:
        raise BadLineError(f"the probability of {quoted(token)} is not in (0, 1]")
    return Label(action, *values)


def _shown(labels: tuple[Label, ...]) -> Label | None:
    """Return the label of what was shown: the one with a cost or, of several, the one with a probability too."""
    costed = [label for label in labels if label.cost is not None]
    if len(costed) > 1:
        costed = [label for label in costed if label.probability is not None]
        if len(costed) != 1:
            raise BadLineError("several actions have costs, and not exactly one has a probability: which was shown?")
    return costed[0] if costed else None


CbFields = tuple[str | None, float | None, float | None, list[str] | None, str | None]


def read_cb(log: LogFile, contexts: TextFeatures, *, choice_first: bool) -> Iterator[Example]:
    """Read lines of ``--cb``: the features are the context, the label's number is the action.

    ``choice_first``: every line begins with a policy's choice, as for ``vw --eval``.
    """
    read_labels = lru_cache(REMEMBERED)(partial(_cb_labels, choice_first=choice_first))

    def example(line: str) -> Example:
        labels, features = _split_line(line)
        fields, tag = read_labels(labels)
        return Example(contexts.key(features, tag), *fields)

    return log.parse(example)


def _cb_labels(text: str, *, choice_first: bool) -> tuple[CbFields, str | None]:
    """Return action, cost, probability, feasible actions and choice, and the tag."""
    labels, tag = _labels(text)
    choice = None
    if choice_first:
        if not labels or labels[0].cost is not None:
            raise BadLineError("it does not begin with a policy's choice")
        choice, labels = labels[0].action, labels[1:]
    if any(label.action in (SHARED, "0") for label in labels):
        raise BadLineError("actions are numbered from 1 in --cb; is it a --cb_adf log?")
    action, cost, probability = _shown(labels) or (None, None, None)
    feasible = [label.action for label in labels] if len(labels) > 1 else None
    return (action, cost, probability, feasible, choice), tag


def read_adf(log: LogFile, contexts: TextFeatures, actions: TextFeatures) -> Iterator[Example]:
    """Read blocks of ``--cb_adf``: the shared line is the context, every other line an action.

    A block with a malformed line is left out whole, if such lines are counted.
    """
    read_labels = lru_cache(REMEMBERED)(_labels)
    for is_blank, group in groupby(log.lines(), lambda numbered: not numbered[1] or numbered[1].isspace()):
        if is_blank:
            continue
        block, numbered = _Block(read_labels, contexts, actions), list(group)
        try:
            for number, line in numbered:  # noqa: B007  where an error is reported
                block.add(check_utf8(line))
            number = numbered[0][0]
            yield block.example()
        except BadLineError as error:
            log.malformed.add(log.path, number, error)


@dataclass
class _Block:
    """The lines of a block of ``--cb_adf`` that were read so far."""

    read_labels: Callable[[str], tuple[tuple[Label, ...], str | None]]
    contexts: TextFeatures
    actions: TextFeatures
    context: str | None = None
    shown: Label | None = None
    action: str | None = None
    feasible: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Read the next line."""
        text, features = _split_line(line)
        labels, tag = self.read_labels(text)
        if len(labels) > 1:
            raise BadLineError("it has more than one label")
        label = labels[0] if labels else None
        if label is not None and label.action == SHARED:
            if self.feasible or self.context is not None:
                raise BadLineError("'shared' does not stand on the first line of a block")
            self.context = self.contexts.key(features, tag)
            return
        self.feasible.append(self.actions.key(features, tag))
        if label is not None and label.cost is not None:
            if self.shown is not None:
                raise BadLineError("a second action of the block has a cost: which was shown?")
            self.shown, self.action = label, self.feasible[-1]

    def example(self) -> Example:
        """Return the event; without a shared line, its context has no features."""
        if not self.feasible:
            raise BadLineError("the block has no action")
        context = self.contexts.key("", None) if self.context is None else self.context
        _, cost, probability = self.shown or (None, None, None)
        return Example(context, self.action, cost, probability, self.feasible)
