"""What a shadow model would have shown at each event, from a column of the log."""

from __future__ import annotations

from warmstart.core import ACTION, PROBABILITY, DecisionError, UsageError, quoted
from warmstart.engine import example_rows, float_literal
from warmstart.events import NO_CHOICE, Cells
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.unknown import check_actions, known_actions


def column_policy(cells: Cells, *, name: str, allow_unknown: bool = False) -> PolicyTable:
    """Choose the action that the last context column names, with probability 1; nothing where it has no choice.

    The column is part of the context of these cells, since shares per context would value a random mixture of its
    choices instead.
    """
    keys, kind = cells.columns.context_keys, cells.table[ACTION].type()
    known, column = known_actions(cells), cells.columns.context[-1]
    where = f"The column {quoted(column)}"
    if cells.engine.fetch(known.filter(known[ACTION].cast("string") == NO_CHOICE).limit(1)):
        raise UsageError(f"The log shows an action called {quoted(NO_CHOICE)}, which stands for none.", "Rename it.")
    contexts = cells.contexts.select(*keys)
    decided = contexts.filter(contexts[keys[-1]] != NO_CHOICE)
    choices = decided.mutate(**{ACTION: decided[keys[-1]].try_cast(kind), PROBABILITY: float_literal(1)})
    wrong = choices.filter((choices[ACTION].cast("string") != choices[keys[-1]]).fill_null(True)).select(keys[-1])
    if examples := example_rows(cells.engine, wrong.distinct().order_by(keys[-1]), {keys[-1]: column}):
        raise DecisionError(
            f"{where} has values that are no {kind}, the type of the log's actions ({examples}).",
            "Write its choices as the log does its actions; a null where there is none.",
        )
    if not allow_unknown:
        check_actions(cells, choices, where)
    return PolicyTable(name, choices, whole=True)
