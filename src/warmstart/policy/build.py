"""Build a policy from its name over the cells of a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warmstart.core import ColumnError, Progress, UsageError, WindowName, quoted, silent
from warmstart.events import Cells, Strata
from warmstart.policy.constant import constant_policy
from warmstart.policy.logging import logging_policy
from warmstart.policy.parse import CONSTANT, CONSTANTS, NamedPolicy
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.uniform import MOST_ROWS, uniform_all_policy, uniform_policy

if TYPE_CHECKING:
    from warmstart.policy.fitted import FittedPolicy


def build_policy(
    named: NamedPolicy,
    cells: Cells,
    *,
    feasible_from: WindowName,
    live: bool,
    allow_unknown: bool = False,
    strata: Strata | None = None,
    contexts: Any = None,
    on_progress: Progress = silent,
) -> PolicyTable:
    """Turn a named policy into a table.

    Args:
        named: The policy.
        cells: The cells of the windows; for a column of choices, those of a log with this column in its context.
        feasible_from: The window that feasible actions come from.
        live: Whether policies that can choose each day, or epoch, among the actions live then do so.
        allow_unknown: Whether decisions may name actions that the log never shows.
        strata: The events by epoch, if propensities are counted within epochs.
        contexts: A table of contexts with features, for policies in Python and for contexts that a learned policy
            never saw.
        on_progress: Called while a policy in Python is asked.
    """
    if named.keyword is None:
        options: dict[str, Any] = {"allow_unknown": allow_unknown, "contexts": contexts, "on_progress": on_progress}
        return _given_policy(named, cells, live=live, strata=strata, **options)
    name = named.name
    match named.keyword:
        case "logging":
            return logging_policy(cells, name=name)
        case "uniform" | "uniform-all" as keyword if strata is not None:
            return _by_epoch(keyword, strata, feasible_from=feasible_from, live=live, name=name)
        case "uniform":
            return uniform_policy(cells, feasible_from=feasible_from, live=live, name=name)
        case "uniform-all":
            return uniform_all_policy(cells, live=live, name=name)
        case keyword if keyword == CONSTANTS:
            raise UsageError("'constants' are several policies, which evaluate takes.", "Name one: constant:ACTION.")
    action = named.keyword.removeprefix(CONSTANT)
    return constant_policy(cells, action, name=name, allow_unknown=allow_unknown)


def _given_policy(
    named: NamedPolicy,
    cells: Cells,
    *,
    live: bool,
    strata: Strata | None,
    allow_unknown: bool,
    contexts: Any,
    on_progress: Progress,
) -> PolicyTable:
    """Build a policy that has no keyword, from what the user gave; parameters as above."""
    name, source = named.name, named.source
    if named.fitted is not None:
        return _learned_policy(named.fitted, source, cells, live=live, name=name, strata=strata, contexts=contexts)
    from warmstart.policy.asked import asked_policy
    from warmstart.policy.column import column_policy
    from warmstart.policy.decisions import decided_policy
    from warmstart.policy.lookup import lookup_table

    options: dict[str, Any] = {"name": name, "allow_unknown": allow_unknown}
    if named.column is not None:
        return column_policy(cells, **options)
    if named.is_asked:
        return asked_policy(cells, source, contexts=contexts, on_progress=on_progress, **options)
    if isinstance(source, Mapping):
        where = f"The policy {quoted(name)}"
        return decided_policy(cells, lookup_table(source, cells.columns, name), where=where, **options)
    return decided_policy(cells, source, **options)


def _by_epoch(keyword: str, strata: Strata, *, feasible_from: WindowName, live: bool, name: str) -> PolicyTable:
    from warmstart.policy.by_epoch import uniform_all_by_epoch, uniform_by_epoch

    if keyword == "uniform":
        return uniform_by_epoch(strata, feasible_from=feasible_from, live=live, name=name)
    return uniform_all_by_epoch(strata, live=live, name=name, most=MOST_ROWS)


def _learned_policy(
    fitted: FittedPolicy,
    source: Any,
    cells: Cells,
    *,
    live: bool,
    name: str,
    strata: Strata | None,
    contexts: Any,
) -> PolicyTable:
    from warmstart.policy.deferring import with_logging_elsewhere
    from warmstart.policy.naive import naive_policy
    from warmstart.policy.ranking import ranked_policy
    from warmstart.policy.unseen import BestOfKnown

    _check_columns(fitted, cells)
    if source is not fitted:
        return naive_policy(cells, source, name=name, contexts=contexts)
    chooses_anywhere = contexts is not None and fitted.model is not None and not fitted.defers
    unseen = BestOfKnown(fitted, contexts, live=live) if chooses_anywhere else None
    ranked = ranked_policy(cells, fitted.ranked, live=live, name=name, strata=strata, unseen=unseen)
    return with_logging_elsewhere(ranked, fitted.ranked, cells, strata) if fitted.defers else ranked


def _check_columns(fitted: FittedPolicy, cells: Cells) -> None:
    learned, given = ((columns.context, columns.action) for columns in (fitted.columns, cells.columns))
    if learned != given:
        raise ColumnError(
            f"The policy was learned from the columns {_named(learned)}, and the log has {_named(given)}.",
            "Name the same columns in the same order.",
        )


def _named(columns: tuple[tuple[str, ...], str]) -> str:
    return ", ".join(quoted(name) for name in (*columns[0], columns[1]))
