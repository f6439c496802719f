"""Vowpal Wabbit's JSON formats: ``--dsjson`` (decision-service logs) and ``--json`` with ``_multi``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from warmstart.core import quoted
from warmstart.interop.feature_table import FeatureTable
from warmstart.interop.features import canonical, qualified
from warmstart.interop.json_values import microseconds, parse_json
from warmstart.interop.lines import BadLineError, LogFile
from warmstart.interop.records import Example
from warmstart.interop.vw.text_features import add_exported, check_namespace

MULTI, SLOTS, TEXT, TAG, CONTEXT = "_multi", "_slots", "_text", "_tag", "c"


class JsonObject(list[tuple[str, Any]]):
    """A JSON object as pairs, because a feature may occur twice."""

    def get(self, *names: str) -> Any:
        """Return the first value under one of these names, or None."""
        return next((value for name, value in self if name in names), None)


def _key(source: JsonObject, table: FeatureTable, *, from_export: bool) -> str:
    """Return the key of the features in an object; they are added to the table."""
    pairs, tag = _features(source, ""), source.get(TAG)
    if tag is not None and not isinstance(tag, str):
        raise BadLineError("a tag is not text")
    if from_export:
        return add_exported(table, pairs, tag)
    features = canonical(pairs)
    key = features.key
    table.add(key, features, tag)
    return key


def _features(source: JsonObject, namespace: str) -> Iterator[tuple[str, float]]:
    """Name features as Vowpal Wabbit does: an object is a namespace, text is name and value, an array is numbered."""
    for name, value in source:
        if name == TEXT and isinstance(value, str):
            yield from ((qualified(namespace, token), 1.0) for token in value.split())
        elif not name.startswith("_"):
            yield from _feature(name, value, namespace)


def _feature(name: str, value: Any, namespace: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, str):
        yield qualified(namespace, name + value), 1.0
    elif isinstance(value, bool):
        if value:
            yield qualified(namespace, name), 1.0
    elif isinstance(value, int | float):
        yield qualified(namespace, name), _finite(value, name)
    elif isinstance(value, JsonObject):
        check_namespace(name)
        yield from _features(value, name)
    elif isinstance(value, list):
        check_namespace(name)
        yield from _array_features(value, name)


def _array_features(values: list[Any], namespace: str) -> Iterator[tuple[str, float]]:
    index = 0
    for value in values:
        if isinstance(value, JsonObject):
            yield from _features(value, namespace)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield qualified(namespace, f"[{index}]"), _finite(value, namespace)
            index += 1
        elif value is not None:
            raise BadLineError(f"the array {quoted(namespace)} holds neither numbers nor objects")


def _finite(value: float, name: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadLineError(f"the feature {quoted(name)} is not finite")
    return number


def read_json(log: LogFile, contexts: FeatureTable, actions: FeatureTable, *, from_export: bool) -> Iterator[Example]:
    """Read an object a line: its shared features are the context, the parts of ``_multi`` are the actions.

    ``from_export``: the tag is the key, and escapes are undone, as in what ``export`` wrote.
    """
    context_key, action_key = (partial(_key, table=table, from_export=from_export) for table in (contexts, actions))
    return log.parse(lambda line: _example(_object(line), context_key, action_key))


def _object(line: str) -> JsonObject:
    parsed = parse_json(line, JsonObject)
    if not isinstance(parsed, JsonObject):
        raise BadLineError("it is no JSON object")
    return parsed


def _example(
    line: JsonObject, context_key: Callable[[JsonObject], str], action_key: Callable[[JsonObject], str]
) -> Example:
    inside = line.get(CONTEXT)
    shared = inside if isinstance(inside, JsonObject) and line.get(MULTI) is None else line
    multi = shared.get(MULTI)
    if shared.get(SLOTS) is not None:
        raise BadLineError("it has slots: several actions an event, which cannot be read")
    if not isinstance(multi, list) or not multi or not all(isinstance(part, JsonObject) for part in multi):
        raise BadLineError("it has no actions (_multi)")
    context = context_key(JsonObject((name, value) for name, value in shared if name != MULTI))
    feasible = [action_key(part) for part in multi]
    cost = _number(line, "_label_cost", "_label_Cost")
    probability = _number(line, "_label_probability", "_label_Probability")
    if probability is not None and not 0 < probability <= 1:
        raise BadLineError(f"the probability {probability:g} is not in (0, 1]")
    chosen = None if cost is None else feasible[_shown_index(line, len(feasible))]
    action = None if line.get("_skipLearn") is True else chosen
    event_id, drop = line.get("EventId", "event_id"), _number(line, "pdrop")
    time = None if (stamp := line.get("Timestamp")) is None else microseconds(stamp, "Timestamp")
    event_id = None if event_id is None else str(event_id)
    return Example(context, action, cost, probability, feasible, time=time, event_id=event_id, drop=drop)


def _shown_index(line: JsonObject, actions: int) -> int:
    """Return which of the actions was shown: ``_labelIndex`` counts from 0, ``_label_Action`` and ``a`` from 1."""
    index = _number(line, "_labelIndex")
    if index is None:
        ranked = line.get("a")
        first = ranked[0] if isinstance(ranked, list) and ranked else None
        number = _number(line, "_label_Action") or (first if isinstance(first, int) else None)
        if number is None:
            raise BadLineError("it has a cost, but says not which action was shown (_labelIndex)")
        index = number - 1
    if not (index == int(index) and 0 <= index < actions):
        raise BadLineError(f"it has {actions} actions, and the one with index {index:g} is none of them")
    return int(index)


def _number(line: JsonObject, *names: str) -> float | None:
    value = line.get(*names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLineError(f"{names[0]} is no number")
    return _finite(value, names[0])
