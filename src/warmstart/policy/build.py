"""Build a policy from its name over the cells of a window."""

from __future__ import annotations

from warmstart.core import ColumnError, WindowName, quoted
from warmstart.events import Cells
from warmstart.policy.constant import constant_policy
from warmstart.policy.decisions import decided_policy
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.logging import logging_policy
from warmstart.policy.naive import NaivePolicy, naive_policy
from warmstart.policy.parse import CONSTANT, NamedPolicy
from warmstart.policy.policy import Policy
from warmstart.policy.ranking import ranked_policy
from warmstart.policy.uniform import uniform_policy


def build_policy(named: NamedPolicy, cells: Cells, *, feasible_from: WindowName, live: bool) -> Policy:
    """Turn a named policy into a table."""
    match named.keyword:
        case "logging":
            return logging_policy(cells, name=named.name)
        case "uniform":
            return uniform_policy(cells, feasible_from=feasible_from, live=live, name=named.name)
        case str() as constant:
            return constant_policy(cells, constant.removeprefix(CONSTANT), name=named.name)
        case None if isinstance(named.source, NaivePolicy):
            _check_columns(named.source.fitted, cells)
            return naive_policy(cells, named.source, name=named.name)
        case None if isinstance(named.source, FittedPolicy):
            _check_columns(named.source, cells)
            return ranked_policy(cells, named.source.ranked, live=live, name=named.name)
        case None:
            return decided_policy(cells, named.source, name=named.name)


def _check_columns(fitted: FittedPolicy, cells: Cells) -> None:
    learned, given = ((columns.context, columns.action) for columns in (fitted.columns, cells.columns))
    if learned != given:
        raise ColumnError(
            f"The policy was learned from the columns {_named(learned)}, and the log has {_named(given)}.",
            "Name the same columns in the same order.",
        )


def _named(columns: tuple[tuple[str, ...], str]) -> str:
    return ", ".join(quoted(name) for name in (*columns[0], columns[1]))
