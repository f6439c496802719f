"""What is in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmstart.core.arrays import to_numpy
from warmstart.core.names import ACTION, MICROSECONDS_PER_DAY, TIME
from warmstart.core.window import iso
from warmstart.results import LogFacts, Spread

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine
    from warmstart.events import Cells, Events

QUANTILES = {"quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "ninety": 0.9, "ninety_nine": 0.99}


def log_facts(cells: Cells, duplicates: int | None) -> LogFacts:
    """Count events, contexts, actions and cells, and how the events spread over them."""
    events, table, engine = cells.evaluated, cells.table, cells.engine
    found = engine.fetch(table.agg(cells=table.count(), rewards=table.reward_sum.sum()))[0]
    by_context = table.group_by(*cells.columns.context_keys).agg(n=table.n.sum())
    by_action = table.group_by(ACTION).agg(n=table.n.sum())
    contexts, per_context = _spread(engine, by_context)
    actions, per_action = _spread(engine, by_action)
    window = events.window
    low, high = events.log.reward_range
    return LogFacts(
        events=window.events,
        contexts=contexts,
        actions=actions,
        cells=found["cells"],
        reward_rate=low + (high - low) * found["rewards"] / window.events,
        first=iso(window.first),
        last=iso(window.last),
        days=_days(events),
        events_per_context=per_context,
        events_per_action=per_action,
        duplicates=duplicates,
        dropped=events.dropped,
        source=events.log.where,
        columns={name: getattr(cells.columns, name) for name in ("context", "action", "reward", "time")},
    )


def _spread(engine: Engine, rows: ir.Table) -> tuple[int, Spread]:
    """Describe how many events each has, from how many have as many: as exact as a sort, and far smaller."""
    alike = rows.group_by(rows.n).agg(rows=rows.count())
    found = engine.fetch_arrow(alike.order_by(alike.n))
    n, upto = to_numpy(found["n"]).astype(float), to_numpy(found["rows"]).cumsum()

    def quantile(share: float) -> float:
        place = share * float(upto[-1] - 1)
        below, above = n[np.searchsorted(upto, [np.floor(place), np.ceil(place)], side="right")]
        return float(below + (above - below) * (place % 1.0))

    quantiles = {name: quantile(share) for name, share in QUANTILES.items()}
    return int(upto[-1]), Spread(least=float(n[0]), most=float(n[-1]), **quantiles)


def _days(events: Events) -> int | None:
    window = events.window
    if window.first is None or window.last is None:
        return None
    return window.last // MICROSECONDS_PER_DAY - window.first // MICROSECONDS_PER_DAY + 1


def duplicates(events: Events) -> int | None:
    """Count events that equal another in every column; unknown where times are whole days, or there are none."""
    if events.columns.time is None:
        return None
    table, engine = events.table, events.engine
    within_day = (table[TIME] % MICROSECONDS_PER_DAY != 0).cast("int64").max()
    if not engine.fetch(table.agg(told_apart=within_day))[0]["told_apart"]:
        return None
    same = table.group_by(*table.columns).agg(rows=table.count())
    same = same.filter(same.rows > 1)
    return int(engine.fetch(same.agg(extra=(same.rows - 1).sum().coalesce(0)))[0]["extra"])
