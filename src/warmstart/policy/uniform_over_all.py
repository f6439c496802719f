"""Uniform over all actions, for contexts that do not repeat: the feasible set of a context is then no guide."""

from __future__ import annotations

from warmstart.core import ACTION, PROBABILITY, UsageError, WindowName
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.policy.feasible import is_feasible
from warmstart.policy.policy import Policy

MOST_ROWS = 20_000_000


def uniform_over_all(cells: Cells, *, feasible_from: WindowName, name: str) -> Policy:
    """Choose every action that was shown anywhere in a window equally often in every context."""
    shown = cells.table.filter(is_feasible(cells.table, feasible_from))
    actions = shown.select(ACTION).distinct()
    contexts = cells.contexts.select(*cells.columns.context_keys)
    sizes = [cells.engine.fetch(table.agg(rows=table.count()))[0]["rows"] for table in (contexts, actions)]
    if sizes[0] * sizes[1] > MOST_ROWS:
        raise UsageError(
            f"'uniform' over {sizes[1]:,} actions in {sizes[0]:,} contexts that do not repeat is too large a table.",
            "Count propensities (propensities='counts'), or give a file of decisions.",
        )
    table = contexts.cross_join(actions).mutate(**{PROBABILITY: float_literal(1) / max(sizes[1], 1)})
    return Policy(name, table)
