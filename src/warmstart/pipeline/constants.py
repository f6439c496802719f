"""``constants``: every action that the window shows as a policy of its own, for logs of few actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warmstart.core import ACTION, UsageError
from warmstart.policy import CONSTANT, CONSTANTS, NamedPolicy

if TYPE_CHECKING:
    from warmstart.events import Events

MOST_CONSTANTS = 12


def with_constants(named: Sequence[NamedPolicy], events: Events) -> list[NamedPolicy]:
    """Return the policies with ``constants`` replaced by one for each action, those shown most first.

    Actions that were named by the user as well are left to that name.
    """
    results: list[NamedPolicy] = []
    for policy in named:
        results += _each(named, events) if policy.keyword == CONSTANTS else [policy]
    return results


def _each(named: Sequence[NamedPolicy], events: Events) -> list[NamedPolicy]:
    table = events.table
    shown = table.group_by(name=table[ACTION].cast("string")).agg(n=table.count())
    rows = events.engine.fetch(shown.order_by([shown.n.desc(), shown.name]).limit(MOST_CONSTANTS + 1))
    if len(rows) > MOST_CONSTANTS:
        hint = "Name those to compare (constant:ACTION), or other policies (uniform, a file of decisions)."
        raise UsageError(f"'constants' is for logs of up to {MOST_CONSTANTS} actions, and this one has more.", hint)
    given = {one for policy in named for one in (policy.name, policy.keyword)}
    sources = [f"{CONSTANT}{row['name']}" for row in rows]
    return [NamedPolicy(source, source) for source in sources if source not in given]
