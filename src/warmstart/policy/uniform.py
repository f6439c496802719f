"""The policy that chooses at random among feasible actions: the paper's Random."""

from __future__ import annotations

from warmstart.core import PROBABILITY, WindowName
from warmstart.events import Cells
from warmstart.policy.daily_uniform import swept_here, swept_in_engine
from warmstart.policy.feasible import feasible_cells, feasible_count
from warmstart.policy.policy import Policy


def uniform_policy(cells: Cells, *, feasible_from: WindowName, live: bool, name: str = "uniform") -> Policy:
    """Choose uniformly among the feasible actions, or among those of them live on the day."""
    if not live:
        feasible = feasible_cells(cells, feasible_from)
        table = feasible.mutate(**{PROBABILITY: 1.0 / feasible_count(feasible, feasible_from)})
    elif cells.engine.in_process:
        table = swept_here(cells, feasible_from)
    else:
        table = swept_in_engine(cells, feasible_from)
    return Policy(name, table, seated=True, held=live)
