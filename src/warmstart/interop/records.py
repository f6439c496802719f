"""Events of another tool's log as they are read, and rewards in [0, 1] from their costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from warmstart.core import RewardRangeError, UsageError, __version__, list_array, number_array, text_array, to_arrow

if TYPE_CHECKING:
    from warmstart.interop.feature_table import FeatureTable

BATCH_EVENTS = 50_000
BATCH_ACTIONS = 1_000_000
# Ranges that rewards are usually meant in: -1 for a click and 0 for none, or a loss between 0 and 1.
USUAL_RANGES = ((-1.0, 0.0), (0.0, 1.0))


class Example(NamedTuple):
    """One event as another tool logged it (round, interaction); unlabelled, it has no ``action`` and no ``cost``.

    ``feasible``: the keys of the actions that could be chosen, if that is known. ``choice``: what another policy would
    have chosen. ``drop``: the share of such events that the log leaves out (dsjson's ``pdrop``).
    """

    context: str
    action: str | None
    cost: float | None = None
    propensity: float | None = None
    feasible: Sequence[str] | None = None
    choice: str | None = None
    time: int | None = None
    event_id: str | None = None
    drop: float | None = None


_TEXT, _NUMBER = pa.string(), pa.float64()
_TYPES = (_TEXT, _TEXT, _NUMBER, _NUMBER, pa.list_(_TEXT), _TEXT, pa.timestamp("us", "UTC"), _TEXT, _NUMBER)
# Every column that events may have while they are read: the fields of an example.
EVENT_SCHEMA = pa.schema(list(zip(Example._fields, _TYPES, strict=True)))


@dataclass
class EventBatches:
    """Turns examples into batches of events, and counts what they hold.

    ``examples`` counts all, ``events`` those with an action and a cost, ``present`` the values in each column,
    ``equal_actions`` the events that list two actions with equal features; ``low`` and ``high`` are the range of costs.
    """

    examples: int = 0
    events: int = 0
    equal_actions: int = 0
    present: Counter[str] = field(default_factory=Counter)
    low: float = math.inf
    high: float = -math.inf

    def read(self, examples: Iterable[Example]) -> Iterator[pa.Table]:
        """Give the events among the examples, in batches of ``EVENT_SCHEMA``; the last may be empty."""
        rows: list[Example] = []
        actions = 0
        for example in examples:
            self.examples += 1
            cost, feasible = example.cost, example.feasible
            if example.action is None or cost is None:
                continue
            if not self.low <= cost <= self.high:
                self.low, self.high = min(self.low, cost), max(self.high, cost)
            rows.append(example)
            if feasible is not None:
                actions += len(feasible)
                self.equal_actions += len(set(feasible)) < len(feasible)
            if len(rows) >= BATCH_EVENTS or actions >= BATCH_ACTIONS:
                yield self._table(rows)
                rows, actions = [], 0
        yield self._table(rows)

    def _table(self, rows: list[Example]) -> pa.Table:
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [() for _ in EVENT_SCHEMA]
        arrays = [_array(column, kind) for column, kind in zip(columns, EVENT_SCHEMA.types, strict=True)]
        self.events += len(rows)
        self.present.update({name: len(a) - a.null_count for name, a in zip(Example._fields, arrays, strict=True)})
        return pa.table(arrays, schema=EVENT_SCHEMA)

    @property
    def columns(self) -> list[str]:
        """Return the columns that hold anything."""
        return [name for name in Example._fields if name in ("context", "action", "cost") or self.present[name]]

    def summary(self, source: str, contexts: FeatureTable, actions: FeatureTable, costs: CostRange) -> dict[str, Any]:
        """Return what is known of an imported log of the kind ``source``, as ``about`` shows it."""
        return {
            "from": source,
            "examples": self.examples,
            "events": self.events,
            "contexts": contexts.count,
            "actions": actions.count,
            "propensities": self.present["propensity"],
            "costs": costs.to_dict(),
            "warmstart_version": __version__,
        }


@dataclass(frozen=True)
class CostRange:
    """The range of costs that becomes rewards from 1 to 0: reward = (high - cost) / (high - low)."""

    low: float
    high: float
    rule: str

    @classmethod
    def choose(cls, low: float, high: float, stated: tuple[float, float] | None) -> CostRange:
        """Return the stated range; else [-1, 0] or [0, 1], whichever holds all costs; else [low, high].

        >>> CostRange.choose(-0.5, 0.0, None)
        CostRange(low=-1.0, high=0.0, rule='[-1, 0] holds all costs')
        """
        if stated is not None:
            least, most = map(float, stated)
            if low < least or high > most:
                what = f"Costs run from {low:g} to {high:g}, outside the stated range [{least:g}, {most:g}]."
                raise RewardRangeError(what, "State a range that holds them, or none.")
            return cls(least, most, "stated")
        for usual in USUAL_RANGES:
            if low > high or (usual[0] <= low and high <= usual[1]):
                return cls(*usual, f"[{usual[0]:g}, {usual[1]:g}] holds all costs")
        if low == high:
            return cls(low - 1.0, high, "all costs are equal; one less was taken as the best")
        return cls(low, high, "found")

    def with_rewards(self, events: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Return these columns of events, with the reward before the cost."""
        cost: Any = np.from_dlpack(events["cost"].combine_chunks()) if events.num_rows else np.zeros(0)
        reward = to_arrow((self.high - cost) / (self.high - self.low))
        return events.select(list(columns)).add_column(list(columns).index("cost"), "reward", reward)

    def to_dict(self) -> dict[str, Any]:
        """Return it as about.json shows it."""
        formulas = {"reward": "(high - cost) / (high - low)", "cost": "high - reward * (high - low)"}
        return {**asdict(self), **formulas}


def check_cost_range(stated: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the range that the user stated; refuse one that is none."""
    if stated is not None and not -math.inf < stated[0] < stated[1] < math.inf:
        hint = "Give a lower and a higher number."
        raise UsageError(f"The cost range {stated[0]} to {stated[1]} is not a range.", hint)
    return stated


def costs_of_rewards(reward_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the range of costs (cost = -reward) that a stated range of rewards means."""
    return check_cost_range(None if reward_range is None else (-reward_range[1], -reward_range[0]))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        flat = [key for keys in values if keys is not None for key in keys]
        return list_array([0 if keys is None else len(keys) for keys in values], text_array(flat), values)
    return text_array(values) if pa.types.is_string(kind) else number_array(values, kind)
