"""Events with the propensity of the action that was shown, for any other learner (step 2 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import ibis

from warmstart.core import PROPENSITY, REWARD, TIME, UsageError, quoted
from warmstart.events import counted_propensity

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Events

Source = Literal["auto", "counts", "logged"]
CLIPPED = "clipped"


def check_export(events: Events, requested: Source, tau: float) -> Literal["counts", "logged"]:
    """Return where propensities come from: "auto" means logged ones if the log has them, or else counted ones.

    Refuse a log in a remote database, propensities that are not there, and a clipping constant outside (0, 1].
    """
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 < tau <= 1:
        raise UsageError(f"tau must lie in (0, 1], and is {quoted(tau)}.")
    if events.engine.remote:
        raise UsageError(
            "Events do not leave the database that they are in.", "Copy the log to Parquet yourself, and export that."
        )
    if requested not in get_args(Source):
        raise UsageError(
            f"There are no propensities {quoted(requested)} to export.", f"Choose {', '.join(get_args(Source))}."
        )
    logged = events.columns.propensity is not None
    if requested == "logged" and not logged:
        raise UsageError("The log was read without propensities.", "Name their column with propensity=...")
    return "logged" if logged and requested != "counts" else "counts"


def clip_propensity(propensity: ir.Value, tau: float) -> ir.Value:
    """Return max(propensity, tau) as a column; its inverse is the importance weight."""
    return ibis.greatest(propensity, ibis.literal(tau).cast("float64"))


def events_with_propensities(cells: Cells, *, tau: float, source: Literal["counts", "logged"]) -> ir.Table:
    """Return the events with ``propensity`` and ``clipped`` = max(propensity, tau)."""
    keys = cells.columns.keys
    events = cells.evaluated.table
    columns = [*keys, REWARD, *([TIME] if TIME in events.columns else [])]
    if source == "counts":
        counted = cells.table.select(*keys, **{PROPENSITY: counted_propensity(cells.table, "evaluated")})
        events = events.select(*columns).join(counted, list(keys))
    return events.select(*columns, PROPENSITY, **{CLIPPED: clip_propensity(events[PROPENSITY], tau)})


def in_time_order(events: ir.Table, keys: tuple[str, ...]) -> ir.Table:
    """Order events by time; those of one time, or of none, in an order that mixes them, always the same."""
    time = [TIME] if TIME in events.columns else []
    repeat = ibis.row_number().over(ibis.window(group_by=[*keys, *time], order_by=REWARD))
    events = events.mutate(repeat=repeat)
    text = events["repeat"].cast("string")
    for key in keys:
        text = text + "|" + events[key].cast("string")
    events = events.mutate(digest=text.hexdigest("md5"))
    return events.order_by(*time, "digest", *keys, "repeat").drop("digest", "repeat")
