"""Build a policy from its name over the cells of a window."""

from __future__ import annotations

from warmstart.core import ColumnError, WindowName, quoted
from warmstart.events import Cells, Strata
from warmstart.policy.by_epoch import uniform_all_by_epoch, uniform_by_epoch
from warmstart.policy.constant import constant_policy
from warmstart.policy.decisions import decided_policy
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.logging import logging_policy
from warmstart.policy.naive import NaivePolicy, naive_policy
from warmstart.policy.parse import CONSTANT, NamedPolicy
from warmstart.policy.policy import Policy
from warmstart.policy.ranking import ranked_policy
from warmstart.policy.uniform import MOST_ROWS, uniform_all_policy, uniform_policy


def build_policy(
    named: NamedPolicy,
    cells: Cells,
    *,
    feasible_from: WindowName,
    live: bool,
    allow_unknown: bool = False,
    strata: Strata | None = None,
) -> Policy:
    """Turn a named policy into a table.

    Args:
        named: The policy.
        cells: The cells of the windows.
        feasible_from: The window that feasible actions come from.
        live: Whether policies that can choose each day, or epoch, among the actions live then do so.
        allow_unknown: Whether decisions may name actions that the log never shows.
        strata: The events by epoch, if propensities are counted within epochs.
    """
    name, source = named.name, named.source
    match named.keyword:
        case "logging":
            return logging_policy(cells, name=name)
        case "uniform" | "uniform-all" as keyword if strata is not None:
            return _by_epoch(keyword, strata, feasible_from=feasible_from, live=live, name=name)
        case "uniform":
            return uniform_policy(cells, feasible_from=feasible_from, live=live, name=name)
        case "uniform-all":
            return uniform_all_policy(cells, live=live, name=name)
        case str() as constant:
            action = constant.removeprefix(CONSTANT)
            return constant_policy(cells, action, name=name, allow_unknown=allow_unknown)
    learned = isinstance(source, NaivePolicy | FittedPolicy)
    return (
        _learned_policy(source, cells, live=live, name=name, strata=strata)
        if learned
        else decided_policy(cells, source, name=name, allow_unknown=allow_unknown)
    )


def _by_epoch(keyword: str, strata: Strata, *, feasible_from: WindowName, live: bool, name: str) -> Policy:
    if keyword == "uniform":
        return uniform_by_epoch(strata, feasible_from=feasible_from, live=live, name=name)
    return uniform_all_by_epoch(strata, live=live, name=name, most=MOST_ROWS)


def _learned_policy(
    source: NaivePolicy | FittedPolicy, cells: Cells, *, live: bool, name: str, strata: Strata | None
) -> Policy:
    if isinstance(source, NaivePolicy):
        _check_columns(source.fitted, cells)
        return naive_policy(cells, source, name=name)
    _check_columns(source, cells)
    return ranked_policy(cells, source.ranked, live=live, name=name, strata=strata)


def _check_columns(fitted: FittedPolicy, cells: Cells) -> None:
    learned, given = ((columns.context, columns.action) for columns in (fitted.columns, cells.columns))
    if learned != given:
        raise ColumnError(
            f"The policy was learned from the columns {_named(learned)}, and the log has {_named(given)}.",
            "Name the same columns in the same order.",
        )


def _named(columns: tuple[tuple[str, ...], str]) -> str:
    return ", ".join(quoted(name) for name in (*columns[0], columns[1]))
