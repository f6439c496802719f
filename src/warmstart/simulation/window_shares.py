"""What the events of a window count in a true value: the same for every event, or for every unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from warmstart.core import UsageError, quoted
from warmstart.engine import float_literal
from warmstart.simulation.users import USER, Per, UserSettings

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Events

COUNTED, EARNING = "counted", "earning"


def check_per(per: str, users: UserSettings | None) -> None:
    """Refuse a denominator that is none, or that a world without users lacks."""
    if per not in get_args(Per):
        raise UsageError(f"per must be event or unit, and is {quoted(per)}.")
    if per == "unit" and users is None:
        raise UsageError("A value per unit needs a world with users.", "Pass users=UserSettings(...) when you make it.")


def with_shares(events: Events, users: UserSettings | None, per: Per) -> ir.Table:
    """Return the window's events with two more columns.

    ``counted``: 1, or with ``per="unit"`` one over the events of the unit in the window. ``earning``: the same times
    the unit's mean reward relative to that of users who are not heavy.

    Args:
        events: The window. It must name the column ``user`` as its unit where the unit matters.
        users: The users of the world, if it has any.
        per: ``event`` or ``unit``.
    """
    check_per(per, users)
    one, table = float_literal(1), events.table
    differ = users is not None and users.heavy_users > 0 and users.heavy_rate != 1
    if users is None or (per == "event" and not differ):
        return table.mutate(**{COUNTED: one, EARNING: one})
    if events.columns.unit != (USER,):
        raise UsageError("The true value depends on the window's users.", 'Read the log with unit="user".')
    (unit,) = events.columns.unit_keys
    counted = one
    if per == "unit":
        visits = table.group_by(unit).agg(visits=table.count())
        joined = table.join(visits, unit)
        table = joined.select(*table.columns, "visits")
        counted = one / table.visits
    heavy = table[unit] < users.heavy_users
    return table.mutate(**{COUNTED: counted, EARNING: counted * heavy.ifelse(users.heavy_rate, 1.0)})
