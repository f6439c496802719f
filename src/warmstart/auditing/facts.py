"""Summary statistics of a log: counts, quantiles, duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import ACTION, MICROSECONDS_PER_DAY, TIME, iso, to_numpy
from warmstart.results import LogFacts, Spread

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine
    from warmstart.events import Cells, Events

# A column with more distinct values than this share of the events tells events apart, not contexts.
NEARLY_ALL = 0.9
QUANTILES = {"quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "ninety": 0.9, "ninety_nine": 0.99}


def log_facts(cells: Cells, duplicates: int | None, unique: tuple[str, ...] = ()) -> LogFacts:
    """Return counts of events, contexts, actions and cells, and quantiles of the events per context and action."""
    events, table, engine = cells.evaluated, cells.table, cells.engine
    totals = engine.fetch(table.agg(cells=table.count(), rewards=table.reward_sum.sum()))[0]
    by_context = table.group_by(*cells.columns.context_keys).agg(n=table.n.sum())
    by_action = table.group_by(ACTION).agg(n=table.n.sum())
    contexts, per_context = spread_of(engine, by_context)
    actions, per_action = spread_of(engine, by_action)
    window = events.window
    low, high = events.log.reward_range
    return LogFacts(
        events=window.events,
        contexts=contexts,
        actions=actions,
        cells=totals["cells"],
        reward_rate=low + (high - low) * totals["rewards"] / window.events,
        first=iso(window.first),
        last=iso(window.last),
        days=_days(events),
        events_per_context=per_context,
        events_per_action=per_action,
        duplicates=duplicates,
        dropped=events.dropped,
        source=events.log.where,
        columns={name: getattr(cells.columns, name) for name in ("context", "action", "reward", "time")},
        unique_columns=unique,
        numbered=events.log.numbered,
    )


def unique_columns(cells: Cells) -> tuple[str, ...]:
    """Return the context columns that have another value in nearly every event.

    Numbers with a fraction describe a context even if none occurs twice; they are named only if nothing else is, and
    not where all columns are of that kind.
    """
    table, keys = cells.table, cells.columns.context_keys
    shown = table.filter(table.n > 0)
    counts = cells.engine.fetch(shown.agg(**{key: shown[key].nunique() for key in keys}))[0]
    unique = [key for key in keys if counts[key] > NEARLY_ALL * cells.evaluated.window.events]
    ids = [key for key in unique if not table[key].type().is_floating()]
    named = ids or (unique if len(unique) < len(keys) else [])
    return tuple(cells.columns.fixed_to_given[key] for key in named)


def spread_of(engine: Engine, rows: ir.Table) -> tuple[int, Spread]:
    """Return the number of groups and quantiles of their events: exact, from a histogram, without sorting."""
    histogram = rows.group_by(rows.n).agg(rows=rows.count())
    counts = engine.fetch_arrow(histogram.order_by(histogram.n))
    n, cumulative = to_numpy(counts["n"]).astype(float), to_numpy(counts["rows"]).cumsum()

    def quantile(share: float) -> float:
        place = share * float(cumulative[-1] - 1)
        below, above = n[np.searchsorted(cumulative, [np.floor(place), np.ceil(place)], side="right")]
        return float(below + (above - below) * (place % 1.0))

    quantiles = {name: quantile(share) for name, share in QUANTILES.items()}
    return int(cumulative[-1]), Spread(least=float(n[0]), most=float(n[-1]), **quantiles)


def _days(events: Events) -> int | None:
    window = events.window
    if window.first is None or window.last is None:
        return None
    return window.last // MICROSECONDS_PER_DAY - window.first // MICROSECONDS_PER_DAY + 1


def duplicates(events: Events) -> int | None:
    """Return how many events repeat another in every column; None where there are no times, or whole days only."""
    if events.columns.time is None:
        return None
    table, engine = events.table, events.engine
    within_day = (table[TIME] % MICROSECONDS_PER_DAY != 0).cast("int64").max()
    if not engine.fetch(table.agg(within_day=within_day))[0]["within_day"]:
        return None
    same = table.group_by(*table.columns).agg(rows=table.count())
    same = same.filter(same.rows > 1)
    return int(engine.fetch(same.agg(extra=(same.rows - 1).sum().coalesce(0)))[0]["extra"])
