"""The policy that wrote the log, as its frequencies in the evaluated window."""

from __future__ import annotations

from warmstart.core import PROBABILITY
from warmstart.events import Cells, counted_propensity
from warmstart.policy.policy_table import PolicyTable


def logging_policy(cells: Cells, *, name: str = "logging") -> PolicyTable:
    """Return the logging policy: probability = n / events of the context (paper, Eq. 7)."""
    seen = cells.table.filter(cells.table.n > 0)
    table = seen.mutate(**{PROBABILITY: counted_propensity(seen)})
    return PolicyTable(name, table, seated=True, costly=False, is_logging=True, whole=True)
