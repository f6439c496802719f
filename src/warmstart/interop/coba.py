"""coba's logged interactions as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

from warmstart.core import DataError, SourceError, UsageError, quoted
from warmstart.interop.feature_table import FeatureTable
from warmstart.interop.features import Features, canonical
from warmstart.interop.records import CostRange, EventBatches, Example, costs_of_rewards
from warmstart.results import ImportedTables


def from_coba(
    interactions: Iterable[Mapping[str, Any]], *, reward_range: tuple[float, float] | None = None
) -> ImportedTables:
    """Return coba's logged interactions, or dicts with their keys, as tables of events, contexts and actions.

    Keys: ``context``, ``action``, ``reward`` and, where known, ``probability`` and ``actions``. A context is nothing, a
    value, a sequence or a mapping of values, and so is an action; text becomes the feature ``name=text``, a number the
    feature ``name`` with that weight. A simple action is its own key, everything else has the md5 of its features.
    Rewards outside [0, 1] are scaled by ``reward_range``, or by the range of the rewards.

    >>> tables = from_coba([{"context": {"page": "p"}, "action": "a", "reward": 1.0, "probability": 0.5}])
    >>> tables.events.select(["action", "reward", "propensity"]).to_pylist()
    [{'action': 'a', 'reward': 1.0, 'propensity': 0.5}]
    """
    import pyarrow as pa

    cost_range = costs_of_rewards(reward_range)
    contexts, actions, batches = FeatureTable("context"), FeatureTable("action"), EventBatches()
    events = pa.concat_tables(batches.read(_examples(interactions, contexts, actions)))
    if not batches.events:
        raise SourceError(f"There are no events among the {batches.examples:,} of coba interactions.")
    costs = CostRange.choose(batches.low, batches.high, cost_range)
    tables = costs.with_rewards(events, batches.columns), contexts.table(), actions.table()
    return ImportedTables(*tables, batches.summary("coba interactions", contexts, actions, costs))


def _examples(
    interactions: Iterable[Mapping[str, Any]], contexts: FeatureTable, actions: FeatureTable
) -> Iterator[Example]:
    for i, interaction in enumerate(interactions):
        if not isinstance(interaction, Mapping):
            raise UsageError(f"Interaction {i} is a {type(interaction).__name__}, not a mapping.")
        for needed in ("action", "reward"):
            if needed not in interaction:
                hint = "A log has logged interactions; simulated and grounded ones know no action that was shown."
                raise DataError(f"Interaction {i} has no {needed}.", hint)
        features = canonical(_named_values(interaction.get("context")))
        context = features.key
        contexts.add(context, features)
        feasible = interaction.get("actions")
        yield Example(
            context,
            _add_action(interaction["action"], actions),
            -_number(interaction["reward"], i, "reward"),
            _probability(interaction.get("probability"), i),
            None if feasible is None else [_add_action(action, actions) for action in feasible],
        )


def _add_action(action: Any, actions: FeatureTable) -> str:
    simple = isinstance(action, str | Real)
    features = Features((str(action),), (1.0,)) if simple else canonical(_named_values(action))
    key = str(action) if simple else features.key
    actions.add(key, features)
    return key


def _named_values(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Give the features of a value; parts of mappings and sequences are named by their path."""
    if value is None:
        return
    if isinstance(value, str | bool):
        yield (f"{name}={value}" if name else str(value)), 1.0
    elif isinstance(value, Real):
        if math.isfinite(value):
            yield name or "value", float(value)
    elif isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _named_values(inner, f"{name}.{part}" if name else str(part))
    elif hasattr(value, "__iter__"):
        for i, inner in enumerate(value):
            yield from _named_values(inner, f"{name}[{i}]")
    else:
        raise DataError(f"A feature of type {quoted(type(value).__name__)} cannot be read.")


def _number(value: Any, i: int, what: str) -> float:
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise DataError(f"Interaction {i}: the {what} {quoted(value)} is no number.")


def _probability(value: Any, i: int) -> float | None:
    if value is None:
        return None
    probability = _number(value, i, "probability")
    if not 0 < probability <= 1:
        raise DataError(f"Interaction {i}: the probability {probability:g} is not in (0, 1].")
    return probability
