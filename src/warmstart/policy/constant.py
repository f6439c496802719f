"""The policy that always chooses one action."""

from __future__ import annotations

import ibis

from warmstart.core import ACTION, PROBABILITY, DecisionError, quoted
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.policy.policy import Policy


def constant_policy(cells: Cells, action: str, *, name: str) -> Policy:
    """Choose ``action`` in every context, whether or not it was ever shown there."""
    table = cells.table
    shown = table.filter(table[ACTION].cast("string") == action).select(ACTION).distinct()
    found = cells.engine.fetch(shown.limit(1))
    if not found:
        raise DecisionError(
            f"{quoted(name)}: the action {quoted(action)} never occurs in {quoted(cells.columns.action)}.",
            "Write it as in the log.",
        )
    chosen = ibis.literal(found[0][ACTION], type=table[ACTION].type())
    contexts = table.filter(table.context_n > 0).select(*cells.columns.context_keys).distinct()
    return Policy(name, contexts.mutate(**{ACTION: chosen, PROBABILITY: float_literal(1)}))
