"""The events of a window with the propensity of what was shown: the paper's step 2, for any other learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import ibis

from warmstart.core.errors import UsageError
from warmstart.core.names import PROPENSITY, REWARD, TIME
from warmstart.core.text import quoted
from warmstart.propensity import counted_propensity

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Events

Source = Literal["auto", "counts", "logged"]
FLOORED = "floored"


def propensity_source(events: Events, asked: Source) -> Literal["counts", "logged"]:
    """Return where propensities come from: the log, if it has them and nothing else is asked for, or else counts."""
    if events.engine.remote:
        raise UsageError(
            "Events do not leave the database that they are in.", "Copy the log to Parquet yourself, and export that."
        )
    if asked not in get_args(Source):
        raise UsageError(
            f"There are no propensities {quoted(asked)} to export.", f"Choose {', '.join(get_args(Source))}."
        )
    logged = events.columns.propensity is not None
    if asked == "logged" and not logged:
        raise UsageError("The log was read without propensities.", "Name their column with propensity=...")
    return "logged" if logged and asked != "counts" else "counts"


def check_tau(tau: float) -> float:
    """Refuse a tau that is no floor of propensities."""
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 < tau <= 1:
        raise UsageError(f"tau must lie in (0, 1], and is {quoted(tau)}.")
    return float(tau)


def weighted_events(cells: Cells, *, tau: float, source: Literal["counts", "logged"]) -> ir.Table:
    """Return the events with ``propensity`` and ``floored`` = max(propensity, tau), whose inverse is the weight."""
    keys = cells.columns.keys
    table = cells.evaluated.table
    kept = [*keys, REWARD, *([TIME] if TIME in table.columns else [])]
    if source == "counts":
        counted = cells.table.select(*keys, **{PROPENSITY: counted_propensity(cells.table, "evaluated")})
        table = table.select(*kept).join(counted, list(keys))
    return table.select(*kept, PROPENSITY).mutate(
        **{FLOORED: ibis.greatest(table[PROPENSITY], ibis.literal(tau).cast("float64"))}
    )


def in_order(table: ir.Table, keys: tuple[str, ...]) -> ir.Table:
    """Put events in the order of time; those of one time, or of none, in an order that mixes them, always the same."""
    timed = [TIME] if TIME in table.columns else []
    alike = ibis.row_number().over(ibis.window(group_by=[*keys, *timed], order_by=REWARD))
    mixed = table.mutate(alike=alike)
    text = mixed.alike.cast("string")
    for key in keys:
        text = text + "|" + mixed[key].cast("string")
    mixed = mixed.mutate(mixed=text.hexdigest("md5"))
    return mixed.order_by(*timed, "mixed", *keys, "alike").drop("mixed", "alike")
