"""Policies that act in some contexts and defer in all others: there logging's own choice stands.

Their action is null there. As a table they have logging's shares, so that what they are worth is what "the policy where
it acts, logging elsewhere" is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa

from warmstart.core import (
    ACTION,
    EPOCH,
    PROBABILITY,
    ColumnError,
    UsageError,
    first_lines,
    no_such_column,
    quoted,
    to_arrow,
)
from warmstart.policy.ranking_store import RANK, SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.core import Columns
    from warmstart.events import Cells, Strata
    from warmstart.policy.policy_table import PolicyTable
    from warmstart.policy.ranking_store import RankingStore


def with_logging_elsewhere(
    policy: PolicyTable, ranked: RankingStore, cells: Cells, strata: Strata | None
) -> PolicyTable:
    """Return a policy that shows what logging showed, as often, in the contexts that are not ranked.

    Args:
        policy: What it chooses in ranked contexts.
        ranked: The ranking.
        cells: The cells of the windows.
        strata: The events by epoch, if propensities are counted within epochs.
    """
    keys, table = list(cells.columns.context_keys), cells.table
    given = ranked.opened(cells.engine)
    acting = given.select(**{key: given[i].cast(table[key].type()) for i, key in enumerate(keys)}).distinct()
    by = [EPOCH] if strata is not None else []
    shown = table if strata is None else strata.table
    others = shown.filter(shown.n > 0).anti_join(acting, keys)
    whole = ibis.window(group_by=[*keys, *by])
    rows = others.select(*keys, ACTION, *by, **{PROBABILITY: others.n / others.n.sum().over(whole)})
    own = policy.table
    if by and EPOCH not in own.columns:
        raise UsageError(
            "A policy that defers is valued by epoch only where it chooses by epoch.",
            "Leave out live=False (--no-live).",
        )
    both = ibis.union(own.select(*rows.columns), rows, distinct=False)
    return replace(policy, table=both, whole=False)


@contextmanager
def keys_of_the_log() -> Iterator[None]:
    """Say of keys that cannot be read as those of the log that they are not of its types."""
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        what = f"Keys are not of the log's types: {first_lines(error)}."
        raise ColumnError(what, "Give contexts and actions as the log has them.") from error


def check_one(context: Any, actions: Any) -> None:
    """Refuse what is not one context as a dict, and what is neither a list of actions nor None."""
    if not isinstance(context, Mapping):
        what = f"A context must be a dict of its columns, and is {quoted(context)}."
        raise UsageError(what, "Pass one, such as {'page': 3}; for several, a table to choose_table.")
    try:
        hash(() if actions is None else tuple(actions))
    except TypeError as error:
        what = f"The actions to choose among must be a list of actions, and are {quoted(actions)}."
        raise UsageError(what, "Choose among those of the log.") from error


def deferring_choice(
    ranking: pa.Table, columns: Columns, context: Mapping[str, Any], actions: Sequence[Any] | None
) -> tuple[Any, NDArray[np.float64]]:
    """Return the first action of a context's ranking, None where the policy defers, and the actions' scores.

    Args:
        ranking: The ranking of all contexts.
        columns: The log's.
        context: The log's context columns.
        actions: The actions to choose among; all if None. NaN is the score of those that are not ranked.
    """
    keys = {name: _of(context, name, "The context") for name in columns.context}
    if several := [name for name, value in keys.items() if isinstance(value, list | tuple | np.ndarray)]:
        what = f"{quoted(several[0])} of a context must be one value, and is {quoted(keys[several[0]])}."
        raise ColumnError(what, "To choose for several contexts, pass a table to choose_table.")
    with keys_of_the_log():
        table = pa.table({name: [value] for name, value in keys.items()})
        allowed = None if actions is None else pa.table({columns.action: list(actions)})
    chosen = deferring_choices(ranking, columns, table, allowed)
    scores = np.full(0 if actions is None else len(actions), np.nan)
    if actions is not None:
        own = _joined(ranking, columns, table)
        known = dict(zip(own[columns.action].to_pylist(), own[SCORE].to_pylist(), strict=True))
        scores = np.array([known.get(action, np.nan) for action in actions], dtype=np.float64)
    return chosen[columns.action][0].as_py(), scores


def deferring_choices(ranking: pa.Table, columns: Columns, contexts: pa.Table, actions: pa.Table | None) -> pa.Table:
    """Return the first action of every row's ranking, null where the policy defers, with its score.

    Args:
        ranking: The ranking of all contexts.
        columns: The log's.
        contexts: A table with the log's context columns.
        actions: A table of actions to choose among; all if None.
    """
    import pyarrow.compute as pc

    for name in columns.context:
        _of(contexts.column_names, name, "the table of contexts")
    if actions is not None and columns.action not in actions.column_names:
        raise no_such_column(columns.action, actions.column_names, where="the table of actions")
    keys = contexts.select(list(columns.context))
    with keys_of_the_log():
        rows = _joined(ranking, columns, keys)
        allowed = None if actions is None else pc.cast(actions[columns.action], rows[columns.action].type)
    if allowed is not None:
        rows = rows.filter(pc.is_in(rows[columns.action], value_set=allowed.combine_chunks()))
    rows = rows.sort_by([("row", "ascending"), (RANK, "ascending")])
    first = np.full(contexts.num_rows, -1, dtype=np.int64)
    places = rows["row"].to_numpy()
    first[places[::-1]] = np.arange(len(places))[::-1]
    taken = to_arrow(np.maximum(first, 0))
    result = pa.array(first >= 0)
    chosen = {}
    for name in (columns.action, SCORE):
        column = rows[name].combine_chunks()
        nothing = pa.scalar(None, column.type)
        values = column.take(taken) if len(column) else pa.nulls(contexts.num_rows, column.type)
        chosen[name] = pc.if_else(result, values, nothing)
    return pa.table({**{name: contexts[name] for name in columns.context}, **chosen})


def _joined(ranking: pa.Table, columns: Columns, contexts: pa.Table) -> pa.Table:
    """Return the ranked actions of every row of a table of contexts, with the number of the row."""
    names = list(columns.context)
    schema = pa.schema([ranking.schema.field(name) for name in names])
    asked = contexts.cast(schema).append_column("row", pa.array(np.arange(contexts.num_rows)))
    return asked.join(ranking, names, join_type="inner")


def _of(given: Any, name: str, where: str) -> Any:
    if name not in given:
        raise no_such_column(name, given, where=where)
    return given[name] if isinstance(given, Mapping) else None
