"""Units that were there before the evaluated window: what was learned from their rewards is not independent of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import TIME

if TYPE_CHECKING:
    from warmstart.events import Events


def returning_share(events: Events, train: Events | None) -> float:
    """Return the share of the evaluated window's units that are in the training window too; 0 without units.

    Without a training window: that have other events in the log; with epochs, of which later ones have no say, earlier
    events.
    """
    units = list(events.columns.unit_keys)
    if not units:
        return 0.0
    if train is None:
        if len(events) == events.log.rows:
            return 0.0
        table, first = events.log.table, events.window.first
        ordered = events.log.epochs is not None and events.columns.time is not None and first is not None
        others = table.filter(table[TIME] < first) if ordered else table.filter(~events.inside)
    elif train.log is events.log:
        others = train.table
    elif len(train.columns.unit) == len(units):
        others = train.log.on(events.engine).table
    else:
        return 0.0
    own = events.table.select(*units).distinct()
    again = own.semi_join(others, units)
    all_units, some = (events.engine.fetch(table.agg(units=table.count()))[0]["units"] for table in (own, again))
    return float(some) / float(all_units)
