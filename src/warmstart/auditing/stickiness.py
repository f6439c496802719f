"""Whether actions stick to units: pairs of events of one context, of the same unit and of different ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.results import Stickiness

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells


def stickiness(cells: Cells, sample: ir.Table) -> Stickiness | None:
    """Return how often two events of a unit in a context show the same action, and how often those of two units do.

    An event is compared with the others of its unit in its context, so that every event counts the same; contexts
    are weighted alike for different units. None where no unit comes back to a context that others come to.

    Args:
        cells: The cells of the log.
        sample: Events and rewards by unit and cell.
    """
    columns, contexts = cells.columns, list(cells.columns.context_keys)
    visits = sample.group_by(*columns.unit_keys, *contexts).agg(n=sample.n.sum(), squares=(sample.n * sample.n).sum())
    again = visits.n >= 2
    own = visits.group_by(*contexts).agg(
        n=visits.n.sum(),
        n_squares=(visits.n * visits.n).sum(),
        squares=visits.squares.sum(),
        returned=again.ifelse(visits.n, 0.0).sum(),
        same=again.ifelse((visits.squares - visits.n) / (visits.n - 1.0).nullif(0.0), 0.0).sum(),
    )
    counts = sample.group_by(*columns.keys).agg(n=sample.n.sum())
    shares = counts.group_by(*contexts).agg(all_squares=(counts.n * counts.n).sum())
    rows = own.join(shares, contexts)
    pairs = rows.n * rows.n - rows.n_squares
    rows = rows.filter(pairs > 0.5)
    chance = (rows.all_squares - rows.squares) / (rows.n * rows.n - rows.n_squares)
    sums = rows.agg(events=rows.returned.sum(), same=rows.same.sum(), chance=(rows.returned * chance).sum())
    totals = cells.engine.fetch(sums)[0]
    if not totals["events"]:
        return None
    events = float(totals["events"])
    return Stickiness(round(events), float(totals["same"]) / events, float(totals["chance"]) / events)
