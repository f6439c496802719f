"""Uniform policies: among the feasible actions of a context (the paper's Random), or among all actions."""

from __future__ import annotations

from warmstart.core import ACTION, PROBABILITY, UsageError, WindowName
from warmstart.engine import float_literal
from warmstart.events import Cells
from warmstart.policy.daily_uniform import swept_here, swept_in_engine
from warmstart.policy.feasible import feasible_cells, feasible_count, is_feasible
from warmstart.policy.policy import Policy

MOST_ROWS = 20_000_000


def uniform_policy(cells: Cells, *, feasible_from: WindowName, live: bool, name: str = "uniform") -> Policy:
    """Choose uniformly among the feasible actions, or among those of them live on the day."""
    if not live:
        feasible = feasible_cells(cells, feasible_from)
        table = feasible.mutate(**{PROBABILITY: 1.0 / feasible_count(feasible, feasible_from)})
    elif cells.engine.in_process:
        table = swept_here(cells, feasible_from)
    else:
        table = swept_in_engine(cells, feasible_from)
    return Policy(name, table, seated=True, held=live, whole=not live)


def uniform_over_all(cells: Cells, *, feasible_from: WindowName, name: str) -> Policy:
    """Choose every action that was shown anywhere in a window equally often in every context.

    For contexts that do not repeat: the feasible set of one is then no guide.
    """
    actions = cells.table.filter(is_feasible(cells.table, feasible_from)).select(ACTION).distinct()
    contexts = cells.contexts.select(*cells.columns.context_keys)
    sizes = [cells.engine.fetch(table.agg(rows=table.count()))[0]["rows"] for table in (contexts, actions)]
    if sizes[0] * sizes[1] > MOST_ROWS:
        raise UsageError(
            f"'uniform' over {sizes[1]:,} actions in {sizes[0]:,} contexts that do not repeat is too large a table.",
            "Count propensities (propensities='counts'), or give a file of decisions.",
        )
    return Policy(name, contexts.cross_join(actions).mutate(**{PROBABILITY: float_literal(1) / max(sizes[1], 1)}))
