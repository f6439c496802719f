"""How Vowpal Wabbit's formats write features, events, and contexts to choose for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warmstart.core import timestamp
from warmstart.interop.features import Features, by_namespace, escape, format_number

# The tag and the features of each action, by its number.
Actions = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ExportedEvent:
    """An event to be written: its place from 1, its context's tag and features, and what was shown at which cost.

    ``feasible``: the numbers, from 0, of the actions that could be chosen; ``index``: which of these was shown;
    ``probability``: its clipped propensity; ``propensities``: those of all feasible actions, where they are known;
    ``time``: microseconds since 1970.
    """

    number: int
    tag: str
    context: str
    feasible: Sequence[int]
    index: int
    cost: float
    probability: float
    propensities: Sequence[float] | None = None
    time: int | None = None


@dataclass(frozen=True)
class Format:
    """A format: functions that write the features of a context or an action, and an event."""

    features: Callable[[Features], str]
    event: Callable[[ExportedEvent, Actions], str]


def text_features(features: Features) -> str:
    """Write features as Vowpal Wabbit's text, from the first bar on.

    >>> text_features(Features(("age", "user^Tom Tom"), (0.5, 1.0)))
    '| age:0.5 |user Tom%20Tom'
    """
    parts = []
    for namespace, pairs in by_namespace(features):
        names = [escape(name) if weight == 1 else f"{escape(name)}:{format_number(weight)}" for name, weight in pairs]
        parts.append(f"|{escape(namespace) if namespace else ''} {' '.join(names)}")
    return " ".join(parts) or "|"


def json_features(features: Features) -> str:
    """Write features as the members of a JSON object; a namespace is an object inside."""
    parts = []
    for namespace, pairs in by_namespace(features):
        inner = ",".join(f"{_json_name(name)}:{format_number(weight)}" for name, weight in pairs)
        parts.append(f"{_json_name(namespace)}:{{{inner}}}" if namespace else inner)
    return ",".join(parts)


def cb_event(event: ExportedEvent, actions: Actions) -> str:  # noqa: ARG001
    """Write a line of ``--cb``: ``action:cost:probability 'context|features``; actions are numbered from 1."""
    action = event.feasible[event.index] + 1
    return f"{action}:{format_number(event.cost)}:{format_number(event.probability)} '{event.tag}{event.context}\n"


def adf_event(event: ExportedEvent, actions: Actions) -> str:
    """Write a block of ``--cb_adf``: a shared line, a line an action, an empty line."""
    label = f"0:{format_number(event.cost)}:{format_number(event.probability)} "
    return adf_block(event.tag, event.context, event.feasible, actions, labels={event.index: label})


def dsjson_event(event: ExportedEvent, actions: Actions) -> str:
    """Write a line of ``--dsjson``, a decision-service log; the label's cost comes first."""
    multi = ",".join(f"{{{_members(*actions[i])}}}" for i in event.feasible)
    label = f'"_label_cost":{format_number(event.cost)},"_label_probability":{format_number(event.probability)},'
    label += f'"_label_Action":{event.index + 1},"_labelIndex":{event.index}'
    # The action that was shown comes first, with its own probability.
    probabilities = {event.index: event.probability}
    probabilities |= {i: p for i, p in enumerate(event.propensities or ()) if i != event.index}
    ranked = ",".join(str(i + 1) for i in probabilities)
    context = f'{_members(event.tag, event.context)},"_multi":[{multi}]'
    return (
        f'{{{label},{_timestamp(event.time)}"Version":"1","EventId":"{event.number}","a":[{ranked}],"c":{{{context}}},'
        f'"p":[{",".join(map(format_number, probabilities.values()))}]}}\n'
    )


FORMATS = {
    "vw-cb": Format(text_features, cb_event),
    "vw-adf": Format(text_features, adf_event),
    "dsjson": Format(json_features, dsjson_event),
}


def adf_block(
    tag: str, context: str, feasible: Sequence[int], actions: Actions, *, labels: dict[int, str] | None = None
) -> str:
    """Write a context with its feasible actions, for ``--cb_adf``; ``labels``: of feasible actions, by their index."""
    lines = [f"{(labels or {}).get(i, '')}'{actions[n][0]}{actions[n][1]}\n" for i, n in enumerate(feasible)]
    return f"shared '{tag}{context}\n{''.join(lines)}\n"


def _members(tag: str, features: str) -> str:
    """Return an object's members: its tag, and its features if it has any."""
    member = f'"_tag":{json.dumps(tag, ensure_ascii=False)}'
    return f"{member},{features}" if features else member


def _timestamp(time: int | None) -> str:
    if time is None:
        return ""
    return f'"Timestamp":"{timestamp(time)}Z",'


def _json_name(name: str) -> str:
    """Quote a name; an underscore in front is escaped, because Vowpal Wabbit passes over such names."""
    escaped = escape(name)
    return json.dumps(f"%5F{escaped[1:]}" if escaped.startswith("_") else escaped, ensure_ascii=False)
