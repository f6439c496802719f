"""The events of another tool's log, as they are read; and what costs become when all are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warmstart.core.arrays import list_array, number_array, text_array, to_arrow
from warmstart.core.errors import RewardRangeError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_EVENTS = 50_000
BATCH_ACTIONS = 1_000_000
# Ranges that rewards are usually meant in: -1 for a click and 0 for none, or a loss between 0 and 1.
USUAL_RANGES = ((-1.0, 0.0), (0.0, 1.0))


class Example(NamedTuple):
    """One event as another tool logged it; ``action`` and ``cost`` are None where nothing came of it yet.

    ``feasible``: the keys of the actions that could be chosen, if that is known. ``choice``: what another policy would
    have chosen. ``drop``: the share of such events that the log leaves out.
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


def event_schema() -> pa.Schema:
    """Return every column that events may have while they are read, in the order of an example's fields."""
    import pyarrow as pa

    return pa.schema(
        [
            ("context", pa.string()),
            ("action", pa.string()),
            ("cost", pa.float64()),
            ("propensity", pa.float64()),
            ("feasible", pa.list_(pa.string())),
            ("choice", pa.string()),
            ("time", pa.timestamp("us", "UTC")),
            ("event_id", pa.string()),
            ("drop", pa.float64()),
        ]
    )


NEEDED = ("context", "action", "cost")


class EventColumns:
    """Turns examples into batches of events, and keeps count of what they hold."""

    def __init__(self) -> None:
        self.examples = 0
        self.events = 0
        self.equal_actions = 0
        self.present: dict[str, int] = {}
        self.low, self.high = math.inf, -math.inf
        self._rows: list[Example] = []
        self._actions = 0

    def add(self, example: Example) -> pa.Table | None:
        """Take an example; return a batch when there are enough."""
        self.examples += 1
        cost, feasible = example.cost, example.feasible
        if example.action is None or cost is None:
            return None
        if not self.low <= cost <= self.high:
            self.low, self.high = min(self.low, cost), max(self.high, cost)
        self._rows.append(example)
        if feasible is not None:
            self._actions += len(feasible)
            self.equal_actions += len(set(feasible)) < len(feasible)
        if len(self._rows) >= BATCH_EVENTS or self._actions >= BATCH_ACTIONS:
            return self.rest()
        return None

    def rest(self) -> pa.Table:
        """Return what is left as a batch."""
        import pyarrow as pa

        schema, rows = event_schema(), self._rows
        self._rows, self._actions = [], 0
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [() for _ in schema.names]
        arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        self.events += len(rows)
        for name, array in zip(schema.names, arrays, strict=True):
            self.present[name] = self.present.get(name, 0) + len(array) - array.null_count
        return pa.table(arrays, schema=schema)

    @property
    def columns(self) -> list[str]:
        """Return the columns that hold anything."""
        return [name for name in event_schema().names if name in NEEDED or self.present.get(name)]


@dataclass(frozen=True)
class CostRange:
    """Costs from ``low`` to ``high`` are rewards from 1 to 0: reward = (high - cost) / (high - low)."""

    low: float
    high: float
    rule: str

    @classmethod
    def of(cls, low: float, high: float, stated: tuple[float, float] | None) -> CostRange:
        """Return the stated range, [-1, 0] or [0, 1] if one of them holds all costs, or else the range found.

        >>> CostRange.of(-0.5, 0.0, None)
        CostRange(low=-1.0, high=0.0, rule='[-1, 0] holds all costs')
        """
        if stated is not None:
            if low < stated[0] or high > stated[1]:
                raise RewardRangeError(
                    f"Costs run from {low:g} to {high:g}, outside the stated range [{stated[0]:g}, {stated[1]:g}].",
                    "State a range that holds them, or none.",
                )
            return cls(float(stated[0]), float(stated[1]), "stated")
        for usual in USUAL_RANGES:
            if low > high or (usual[0] <= low and high <= usual[1]):
                return cls(*usual, f"[{usual[0]:g}, {usual[1]:g}] holds all costs")
        if low == high:
            return cls(low - 1.0, high, "all costs are equal; one less was taken as the best")
        return cls(low, high, "found")

    def rewarded(self, events: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Add rewards to a batch of events, and keep these columns of it."""
        cost: Any = np.from_dlpack(events["cost"].combine_chunks()) if events.num_rows else np.zeros(0)
        reward = to_arrow((self.high - cost) / (self.high - self.low))
        chosen = events.select(list(columns))
        return chosen.add_column(chosen.column_names.index("cost"), "reward", reward)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the columns of events with rewards."""
        import pyarrow as pa

        fields = [event_schema().field(name) for name in columns]
        fields.insert(list(columns).index("cost"), pa.field("reward", pa.float64()))
        return pa.schema(fields)

    def to_dict(self) -> dict[str, Any]:
        """Return it as about.json shows it."""
        return {
            "low": self.low,
            "high": self.high,
            "rule": self.rule,
            "reward": "(high - cost) / (high - low)",
            "cost": "high - reward * (high - low)",
        }


def checked_range(stated: tuple[float, float] | None) -> tuple[float, float] | None:
    """Refuse a range that is none."""
    if stated is not None and not (math.isfinite(stated[0]) and math.isfinite(stated[1]) and stated[0] < stated[1]):
        raise UsageError(
            f"The cost range {stated[0]} to {stated[1]} is not a range.", "Give a lower and a higher number."
        )
    return stated


def batches(examples: Iterator[Example], columns: EventColumns) -> Iterator[pa.Table]:
    """Give examples as batches of events."""
    for example in examples:
        batch = columns.add(example)
        if batch is not None:
            yield batch
    yield columns.rest()


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_list(kind):
        flat = [key for keys in values if keys is not None for key in keys]
        return list_array([0 if keys is None else len(keys) for keys in values], text_array(flat), values)
    return text_array(values) if pa.types.is_string(kind) else number_array(values, kind)
