"""Vowpal Wabbit's JSON: ``--dsjson`` (decision-service logs) and ``--json`` with ``_multi``, an object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from warmstart.core.errors import MalformedLineError
from warmstart.core.text import quoted
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.features import canonical, unescaped, unescaped_word, word
from warmstart.interop.vw.lines import Malformed, in_utf8
from warmstart.interop.vw.records import Example
from warmstart.interop.vw.text_features import BadTextError

MULTI, SLOTS, TEXT, TAG, CONTEXT = "_multi", "_slots", "_text", "_tag", "c"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Pairs = list[tuple[str, Any]]


class Object(list[tuple[str, Any]]):
    """A JSON object as pairs, because a feature may occur twice."""

    def get(self, *names: str) -> Any:
        """Return the first value under one of these names, or None."""
        return next((value for name, value in self if name in names), None)


class JsonSide:
    """Reads the features of one side of a JSON log; ``by_tag`` as in the text format."""

    def __init__(self, side: Side, *, by_tag: bool = False) -> None:
        self._side = side
        self._by_tag = by_tag

    def key(self, found: Object, namespace: str = "") -> str:
        """Return the key of the features in an object; they go to the side's table."""
        pairs = list(_features(found, namespace))
        tag = found.get(TAG)
        if tag is not None and not isinstance(tag, str):
            raise BadTextError("a tag is not text")
        if not self._by_tag:
            features = canonical(pairs)
            key = features.key
            self._side.add(key, features, tag)
            return key
        if tag is None:
            raise BadTextError("it has no tag to take the key from")
        try:
            key = unescaped(tag)
            plain = canonical((unescaped_word(spelled), weight) for spelled, weight in pairs)
        except UnicodeDecodeError as error:
            raise BadTextError("an escape in it is not UTF-8") from error
        self._side.add(key, plain)
        return key


def _features(value: Object, namespace: str) -> Iterator[tuple[str, float]]:
    """Give words as Vowpal Wabbit does: an object is a namespace; text is name and value; an array is numbered."""
    for name, held in value:
        if name == TEXT and isinstance(held, str):
            yield from ((word(namespace, token), 1.0) for token in held.split())
        elif not name.startswith("_"):
            yield from _feature(name, held, namespace)


def _feature(name: str, held: Any, namespace: str) -> Iterator[tuple[str, float]]:
    if isinstance(held, str):
        yield word(namespace, name + held), 1.0
    elif isinstance(held, bool):
        if held:
            yield word(namespace, name), 1.0
    elif isinstance(held, int | float):
        yield word(namespace, name), _finite(held, name)
    elif isinstance(held, Object):
        _check_namespace(name)
        yield from _features(held, name)
    elif isinstance(held, list):
        _check_namespace(name)
        yield from _numbered(held, name)


def _numbered(values: list[Any], namespace: str) -> Iterator[tuple[str, float]]:
    place = 0
    for value in values:
        if isinstance(value, Object):
            yield from _features(value, namespace)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield word(namespace, f"[{place}]"), _finite(value, namespace)
            place += 1
        elif value is not None:
            raise BadTextError(f"the array {quoted(namespace)} holds neither numbers nor objects")


def _finite(value: float, name: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadTextError(f"the feature {quoted(name)} is not finite")
    return number


def _check_namespace(name: str) -> None:
    if "^" in name:
        raise BadTextError(f"the namespace {quoted(name)} holds a ^, which stands between namespace and name")


def read_json(
    path: Path, lines: Iterable[tuple[int, str]], malformed: Malformed, contexts: JsonSide, actions: JsonSide
) -> Iterator[Example]:
    """Read an object a line: what is shared is the context, the parts of ``_multi`` are the actions."""
    for number, raw in lines:
        if not raw or raw.isspace():
            continue
        try:
            yield _example(_object(in_utf8(path, number, raw)), contexts, actions)
        except BadTextError as error:
            malformed.met(MalformedLineError(str(path), number, str(error)))
        except MalformedLineError as error:
            malformed.met(error)


def _object(line: str) -> Object:
    try:
        found = json.loads(line, object_pairs_hook=Object)
    except (ValueError, RecursionError) as error:
        raise BadTextError(f"it is no JSON ({error})") from error
    if not isinstance(found, Object):
        raise BadTextError("it is no JSON object")
    return found


def _example(found: Object, contexts: JsonSide, actions: JsonSide) -> Example:
    inside = found.get(CONTEXT)
    shared = inside if isinstance(inside, Object) and found.get(MULTI) is None else found
    multi = shared.get(MULTI)
    if shared.get(SLOTS) is not None:
        raise BadTextError("it has slots: several actions an event, which cannot be read")
    if not isinstance(multi, list) or not multi or not all(isinstance(part, Object) for part in multi):
        raise BadTextError("it has no actions (_multi)")
    context = contexts.key(Object((name, value) for name, value in shared if name != MULTI))
    feasible = [actions.key(part) for part in multi]
    cost = _number(found, "_label_cost", "_label_Cost")
    probability = _number(found, "_label_probability", "_label_Probability")
    if probability is not None and not 0 < probability <= 1:
        raise BadTextError(f"the probability {probability:g} is not in (0, 1]")
    chosen = None if cost is None else feasible[_chosen(found, len(feasible))]
    return Example(
        context,
        None if found.get("_skipLearn") is True else chosen,
        cost,
        probability,
        feasible,
        time=_microseconds(found.get("Timestamp")),
        event_id=_text(found.get("EventId", "event_id")),
        drop=_number(found, "pdrop"),
    )


def _chosen(found: Object, actions: int) -> int:
    """Return which of the actions was shown: ``_labelIndex`` counts from 0, ``_label_Action`` and ``a`` from 1."""
    index = _number(found, "_labelIndex")
    if index is None:
        ranked = found.get("a")
        first = ranked[0] if isinstance(ranked, list) and ranked else None
        number = _number(found, "_label_Action") or (first if isinstance(first, int) else None)
        if number is None:
            raise BadTextError("it has a cost, but says not which action was shown (_labelIndex)")
        index = number - 1
    if not (index == int(index) and 0 <= index < actions):
        raise BadTextError(f"it has {actions} actions, and the one with index {index:g} is none of them")
    return int(index)


def _number(found: Object, *names: str) -> float | None:
    value = found.get(*names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadTextError(f"{names[0]} is no number")
    return _finite(value, names[0])


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _microseconds(value: Any) -> int | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise BadTextError(f"the Timestamp {quoted(value)} is no time") from error
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH) // timedelta(microseconds=1)
