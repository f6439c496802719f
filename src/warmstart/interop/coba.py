"""coba's interactions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

from warmstart.core.errors import DataError, UsageError
from warmstart.core.text import quoted
from warmstart.interop.frames import tables_of
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.features import Features, canonical
from warmstart.interop.vw.records import Example, checked_range
from warmstart.results import ImportedTables


def from_coba(
    interactions: Iterable[Mapping[str, Any]], *, reward_range: tuple[float, float] | None = None
) -> ImportedTables:
    """Turn coba's logged interactions, or dicts with their keys, into tables.

    Keys: ``context``, ``action``, ``reward`` and, where known, ``probability`` and ``actions``. A context is nothing, a
    value, a sequence or a mapping of values, and so is an action; text becomes the word ``name=text``, a number the
    word ``name`` with that weight. A simple action is its own key, everything else has the md5 of its features.
    Rewards outside [0, 1] are scaled by ``reward_range``, or by the range found.

    >>> found = from_coba([{"context": {"page": "p"}, "action": "a", "reward": 1.0, "probability": 0.5}])
    >>> found.events.select(["action", "reward", "propensity"]).to_pylist()
    [{'action': 'a', 'reward': 1.0, 'propensity': 0.5}]
    """
    contexts, actions = Side("context"), Side("action")
    costs = None if reward_range is None else (-reward_range[1], -reward_range[0])
    checked_range(costs)
    return tables_of(_examples(interactions, contexts, actions), contexts, actions, costs, source="coba interactions")


def _examples(interactions: Iterable[Mapping[str, Any]], contexts: Side, actions: Side) -> Iterator[Example]:
    for i, interaction in enumerate(interactions):
        if not isinstance(interaction, Mapping):
            raise UsageError(f"Interaction {i} is a {type(interaction).__name__}, not a mapping.")
        if "action" not in interaction or "reward" not in interaction:
            raise DataError(
                f"Interaction {i} has no {'reward' if 'action' in interaction else 'action'}.",
                "A log has logged interactions; simulated and grounded ones know no action that was shown.",
            )
        features = _features(interaction.get("context"))
        context = features.key
        contexts.add(context, features)
        among = interaction.get("actions")
        yield Example(
            context,
            _action(interaction["action"], actions),
            -_number(interaction["reward"], i, "reward"),
            _probability(interaction.get("probability"), i),
            None if among is None else [_action(action, actions) for action in among],
        )


def _action(action: Any, side: Side) -> str:
    simple = isinstance(action, str | Real)
    key = str(action) if simple else _features(action).key
    side.add(key, Features((key,), (1.0,)) if simple else _features(action))
    return key


def _features(value: Any) -> Features:
    return canonical(_pairs(value, ""))


def _pairs(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Give the words of a value; parts of mappings and sequences are named by their path."""
    if value is None:
        return
    if isinstance(value, bool):
        yield (f"{name}={value}" if name else str(value)), 1.0
    elif isinstance(value, Real):
        if math.isfinite(value):
            yield name or "value", float(value)
    elif isinstance(value, str):
        yield (f"{name}={value}" if name else value), 1.0
    elif isinstance(value, Mapping):
        for part, held in value.items():
            yield from _pairs(held, f"{name}.{part}" if name else str(part))
    elif hasattr(value, "__iter__"):
        for i, held in enumerate(value):
            yield from _pairs(held, f"{name}[{i}]")
    else:
        raise DataError(f"A feature of type {quoted(type(value).__name__)} cannot be read.")


def _number(value: Any, i: int, what: str) -> float:
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise DataError(f"Interaction {i}: the {what} {quoted(value)} is no number.")


def _probability(value: Any, i: int) -> float | None:
    if value is None:
        return None
    found = _number(value, i, "probability")
    if not 0 < found <= 1:
        raise DataError(f"Interaction {i}: the probability {found:g} is not in (0, 1].")
    return found
