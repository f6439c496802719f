"""Origin of exploration: changes of the policy from day to day, or randomness within a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.core import DAY, date_of
from warmstart.results import Origin, SwitchDay

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import DailyCells


def origin(daily: DailyCells) -> Origin:
    """Return how often two events of a context have different actions, on the same day and on different days.

    Pairs are without replacement, so that days with few events do not look more deterministic than they are.
    """
    cells, days, engine = daily.cells, daily.days, daily.cells.engine
    events = cells.evaluated.window.events
    sums = engine.fetch(_pairs(daily))[0]
    daily_sums = engine.fetch(days.agg(rows=days.count(), nlogn=(days.n * days.n.ln()).sum()))[0]
    within, across = _ratio(sums["within"], sums["pairs_traffic"]), _ratio(sums["across"], sums["pairs_traffic"])
    per_day = engine.fetch(_switches(daily))
    entropy = (sums["context_nlogn"] - sums["cell_nlogn"] + (sums["cells"] - sums["contexts"]) / 2) / events
    entropy_within = (sums["day_nlogn"] - daily_sums["nlogn"] + (daily_sums["rows"] - sums["days"]) / 2) / events
    return Origin(
        context_days=round(sums["days"]),
        one_action_days=_ratio(sums["alone"], sums["several"]),
        differ_within_day=within,
        differ_across_days=across,
        calendar=None if not across or within is None else min(max(1 - within / across, 0.0), 1.0),
        entropy=entropy,
        entropy_within_day=entropy_within,
        switches_per_context=sum(row["switched"] for row in per_day) / sums["contexts"],
        switch_days=tuple(
            SwitchDay(date_of(row[DAY]), row["contexts"], row["switched"] / row["contexts"]) for row in per_day
        ),
    )


def _pairs(daily: DailyCells) -> ir.Table:
    """Return one row with sums over contexts: pairs of events within and across days, and entropy terms."""
    table, traffic = daily.cells.table, daily.traffic
    contexts = list(daily.cells.columns.context_keys)
    several = traffic.n >= 2
    per_context = traffic.group_by(*contexts).agg(
        days=traffic.count().cast("float64"),
        several=several.cast("float64").sum(),
        alone=(several & (traffic.actions == 1)).cast("float64").sum(),
        day_pairs=(traffic.n * (traffic.n - 1.0)).sum(),
        day_same=traffic.same.sum(),
        day_nlogn=(traffic.n * traffic.n.ln()).sum(),
    )
    whole = table.group_by(*contexts).agg(
        n=table.context_n.max(),
        cells=table.count().cast("float64"),
        same=(table.n * (table.n - 1.0)).sum(),
        cell_nlogn=(table.n * table.n.ln()).sum(),
    )
    both = whole.join(per_context, contexts)
    across_pairs = both.n * (both.n - 1.0) - both.day_pairs
    across_different = both.n * (both.n - 1.0) - both.same - (both.day_pairs - both.day_same)
    comparable = (both.day_pairs > 0) & (across_pairs > 0)
    sums = {name: both[name].sum() for name in ("days", "several", "alone", "cells", "day_nlogn", "cell_nlogn")}
    return both.agg(
        **sums,
        contexts=both.count(),
        context_nlogn=(both.n * both.n.ln()).sum(),
        pairs_traffic=comparable.ifelse(both.n, 0.0).sum(),
        within=comparable.ifelse(both.n * (1.0 - both.day_same / both.day_pairs.nullif(0.0)), 0.0).sum(),
        across=comparable.ifelse(both.n * across_different / across_pairs.nullif(0.0), 0.0).sum(),
    )


def _switches(daily: DailyCells) -> ir.Table:
    """Return by day the number of contexts, and of those with more than half of their traffic on other actions."""
    days = daily.days.filter(daily.days.next_day.notnull())
    overlap = ibis.least(days.n / days.day_n, days.next_share).sum()
    pairs = days.group_by(*daily.cells.columns.context_keys, DAY).agg(next_day=days.next_day.max(), overlap=overlap)
    switched = (pairs.overlap < 0.5).cast("int64").sum()
    return pairs.group_by(day=pairs.next_day).agg(contexts=pairs.count(), switched=switched).order_by(DAY)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
