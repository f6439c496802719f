"""How Vowpal Wabbit's formats spell features, contexts, actions and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from warmstart.interop.vw.features import Features, escaped, grouped, number


@dataclass(frozen=True, slots=True)
class Shown:
    """An event to be spelled: what is known of its context, its cost and what was shown with which probability.

    ``feasible``: the numbers, from 0, of the actions that could be chosen; ``index``: which of these was shown;
    ``propensities``: of all of these, where they are known; ``time``: microseconds since 1970.
    """

    tag: str
    context: str
    feasible: Sequence[int]
    index: int
    cost: float
    probability: float
    propensities: Sequence[float] | None = None
    time: int | None = None


class Spelling(Protocol):
    """A format."""

    def features(self, features: Features) -> str:
        """Spell features."""
        ...

    def event(self, place: int, shown: Shown, actions: Sequence[tuple[str, str]]) -> str:
        """Spell an event; ``actions`` are tags and features by number."""
        ...


class CbText:
    """Lines of ``--cb``: ``action:cost:probability 'context|features``; actions are numbered from 1."""

    def features(self, features: Features) -> str:
        """Spell features."""
        return vw_features(features)

    def event(self, place: int, shown: Shown, actions: Sequence[tuple[str, str]]) -> str:  # noqa: ARG002
        """Spell an event."""
        action = shown.feasible[shown.index] + 1
        return f"{action}:{number(shown.cost)}:{number(shown.probability)} '{shown.tag}{shown.context}\n"


class AdfText:
    """Blocks of ``--cb_adf``: a shared line, a line an action, an empty line."""

    def features(self, features: Features) -> str:
        """Spell features."""
        return vw_features(features)

    def event(self, place: int, shown: Shown, actions: Sequence[tuple[str, str]]) -> str:  # noqa: ARG002
        """Spell an event."""
        lines = _block(shown.tag, shown.context, shown.feasible, actions)
        label = f"0:{number(shown.cost)}:{number(shown.probability)} "
        lines[1 + shown.index] = label + lines[1 + shown.index]
        return "\n".join(lines) + "\n\n"


class DsJson:
    """Decision-service logs, an object a line; the label's cost comes first."""

    def features(self, features: Features) -> str:
        """Spell features as the members of an object."""
        parts = []
        for namespace, pairs in grouped(features):
            inner = ",".join(f"{_quoted(name)}:{number(weight)}" for name, weight in pairs)
            parts.append(f"{_quoted(namespace)}:{{{inner}}}" if namespace else inner)
        return ",".join(parts)

    def event(self, place: int, shown: Shown, actions: Sequence[tuple[str, str]]) -> str:
        """Spell an event."""
        multi = ",".join(f"{{{_members(*actions[i])}}}" for i in shown.feasible)
        label = f'"_label_cost":{number(shown.cost)},"_label_probability":{number(shown.probability)},'
        label += f'"_label_Action":{shown.index + 1},"_labelIndex":{shown.index}'
        others = [i for i in range(len(shown.feasible)) if i != shown.index and shown.propensities is not None]
        known = [shown.index, *others]
        ranked = ",".join(str(i + 1) for i in known)
        probabilities = [shown.probability, *(shown.propensities[i] for i in others if shown.propensities)]
        inside = f'{_members(shown.tag, shown.context)},"_multi":[{multi}]'
        return (
            f'{{{label},{_timestamp(shown.time)}"Version":"1","EventId":"{place}","a":[{ranked}],"c":{{{inside}}},'
            f'"p":[{",".join(map(number, probabilities))}]}}\n'
        )


SPELLINGS: dict[str, Spelling] = {"vw-cb": CbText(), "vw-adf": AdfText(), "dsjson": DsJson()}


def vw_features(features: Features) -> str:
    """Spell features as text, from the first bar on.

    >>> vw_features(Features(("age", "user^Tom Tom"), (0.5, 1.0)))
    '| age:0.5 |user Tom%20Tom'
    """
    parts = []
    for namespace, pairs in grouped(features):
        words = [escaped(name) if weight == 1 else f"{escaped(name)}:{number(weight)}" for name, weight in pairs]
        parts.append(f"|{escaped(namespace) if namespace else ''} {' '.join(words)}")
    return " ".join(parts) or "|"


def unlabelled_line(tag: str, context: str) -> str:
    """Spell a context to choose for, for ``--cb``."""
    return f"'{tag}{context}\n"


def unlabelled_block(tag: str, context: str, feasible: Sequence[int], actions: Sequence[tuple[str, str]]) -> str:
    """Spell a context to choose for, with its feasible actions, for ``--cb_adf``."""
    return "\n".join(_block(tag, context, feasible, actions)) + "\n\n"


def _block(tag: str, context: str, feasible: Sequence[int], actions: Sequence[tuple[str, str]]) -> list[str]:
    return [f"shared '{tag}{context}", *(f"'{actions[i][0]}{actions[i][1]}" for i in feasible)]


def _members(tag: str, features: str) -> str:
    """Return an object's members: its tag, and its features if it has any."""
    spelled = f'"_tag":{json.dumps(tag, ensure_ascii=False)}'
    return f"{spelled},{features}" if features else spelled


def _timestamp(time: int | None) -> str:
    if time is None:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
    return f'"Timestamp":"{moment:%Y-%m-%dT%H:%M:%S.%f}Z",'


def _quoted(name: str) -> str:
    """Quote a name; an underscore in front is escaped, because Vowpal Wabbit passes over such names."""
    spelled = escaped(name)
    return json.dumps(f"%5F{spelled[1:]}" if spelled.startswith("_") else spelled, ensure_ascii=False)
