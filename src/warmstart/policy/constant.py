"""The policy that always chooses one action."""

from __future__ import annotations

import ibis

from warmstart.core import ACTION, PROBABILITY, DecisionError, quoted
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.unknown import ALLOW, similar_actions


def constant_policy(cells: Cells, action: str, *, name: str, allow_unknown: bool = False) -> PolicyTable:
    """Choose ``action`` in every context, whether or not it was ever shown there."""
    table = cells.table
    kind = table[ACTION].type()
    shown = table.filter(table[ACTION].cast("string") == action).select(ACTION).distinct()
    result = cells.engine.fetch(shown.limit(1))
    if not (result or allow_unknown):
        (named, shown), column = similar_actions(cells, [action]), quoted(cells.columns.action)
        hint = f"Write it as in the log{shown}, or {ALLOW}."
        raise DecisionError(f"{quoted(name)}: the action {named} never occurs in {column}.", hint)
    chosen = ibis.literal(result[0][ACTION], type=kind) if result else ibis.literal(action).try_cast(kind)
    contexts = table.filter(table.context_n > 0).select(*cells.columns.context_keys).distinct()
    choices = contexts.mutate(**{ACTION: chosen, PROBABILITY: float_literal(1)})
    if not result and cells.engine.fetch(choices.select(ACTION).limit(1))[0][ACTION] is None:
        raise DecisionError(f"{quoted(name)}: {quoted(action)} is no {kind}, the type of the log's actions.")
    return PolicyTable(name, choices)
