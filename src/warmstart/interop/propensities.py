"""Events with the propensity of the action that was shown, for any other learner (step 2 of the paper)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import ibis

from warmstart.core import PROPENSITY, REWARD, TIME, UsageError, quoted, with_given_names, write_output, write_parquet
from warmstart.events import counted_propensity
from warmstart.interop.features import ROWS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Events

Source = Literal["auto", "counts", "logged"]
CLIPPED, WEIGHT = "clipped", "weight"


def check_export(events: Events, requested: Source, tau: float) -> Literal["counts", "logged"]:
    """Return where propensities come from: "auto" means logged ones if the log has them, or else counted ones.

    Refuse a log in a remote database, propensities that are not there, and a clipping constant outside (0, 1].
    """
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 < tau <= 1:
        raise UsageError(f"tau must lie in (0, 1], and is {quoted(tau)}.")
    if events.engine.remote:
        hint = "Copy the log to Parquet yourself, and export that."
        raise UsageError("Events do not leave the database that they are in.", hint)
    if requested not in get_args(Source):
        hint = f"Choose {', '.join(get_args(Source))}."
        raise UsageError(f"There are no propensities {quoted(requested)} to export.", hint)
    logged = events.columns.propensity is not None
    if requested == "logged" and not logged:
        raise UsageError("The log was read without propensities.", "Name their column with propensity=...")
    return "logged" if logged and requested != "counts" else "counts"


def clip_propensity(propensity: ir.Value, tau: float) -> ir.Value:
    """Return max(propensity, tau) as a column; its inverse is the importance weight."""
    return ibis.greatest(propensity, ibis.literal(tau).cast("float64"))


def with_propensities(cells: Cells, *, tau: float, source: Literal["counts", "logged"]) -> ir.Table:
    """Return the events with ``propensity`` and ``clipped`` = max(propensity, tau)."""
    keys = cells.columns.keys
    events = cells.evaluated.table
    columns = [*keys, REWARD, *([TIME] if TIME in events.columns else [])]
    if source == "counts":
        counted = cells.table.select(*keys, **{PROPENSITY: counted_propensity(cells.table)})
        events = events.select(*columns).join(counted, list(keys))
    return events.select(*columns, PROPENSITY, **{CLIPPED: clip_propensity(events[PROPENSITY], tau)})


def in_time_order(events: ir.Table, keys: tuple[str, ...]) -> ir.Table:
    """Order events by time; those of one time, or of none, in an order that mixes them, always the same."""
    time = [TIME] if TIME in events.columns else []
    events = events.mutate(repeat=ibis.row_number().over(ibis.window(group_by=[*keys, *time], order_by=REWARD)))
    text = events["repeat"].cast("string")
    for key in keys:
        text = text + "|" + events[key].cast("string")
    events = events.mutate(digest=text.hexdigest("md5"))
    return events.order_by(*time, "digest", *keys, "repeat").drop("digest", "repeat")


def write_events(cells: Cells, rows: ir.Table, path: Path) -> int:
    """Write events with propensities as Parquet: the log's columns, ``propensity``, and ``weight`` = 1 / clipped."""
    fixed_to_given = cells.columns.fixed_to_given
    given = {fixed: fixed_to_given[fixed] for fixed in rows.columns if fixed in fixed_to_given and fixed != PROPENSITY}
    for name in (PROPENSITY, WEIGHT):
        if name in given.values():
            raise UsageError(f"The log has a column {quoted(name)} of its own.", "Rename it before you export.")
    given |= {PROPENSITY: PROPENSITY, WEIGHT: WEIGHT}
    ordered = in_time_order(rows.mutate(**{WEIGHT: 1.0 / rows[CLIPPED]}), cells.columns.keys)
    tables = (with_given_names(batch, given, time=TIME) for batch in cells.engine.stream(ordered, ROWS))
    with write_output(path, force=True) as temporary:  # what may not be replaced was refused before the work
        return write_parquet(temporary, tables)
