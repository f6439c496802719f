"""Choose for contexts of a ranking, where the model cannot score others or has no features to tell them apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import Columns, UsageError, counted, no_such_column, to_arrow, to_numpy
from warmstart.features import KeyEncoder
from warmstart.policy.deferring import deferring_choices, keys_of_the_log

NOTHING_NEW = (
    "This policy was learned with a model of your own, which is not kept or saved in it: nothing can be chosen for "
    "contexts outside its ranking"
)
HINT = "Use policy.decisions, or score contexts with your model."


def choose_from_ranking(ranking: pa.Table, columns: Columns, contexts: pa.Table, actions: pa.Table | None) -> pa.Table:
    """Return the first action of a ranking, and its score, for every row of a table of contexts.

    Args:
        ranking: the actions of every context with their ranks and scores.
        columns: the log's.
        contexts: keys of contexts; one that the ranking lacks is an error.
        actions: the actions to choose among; all, if None.
    """
    import pyarrow.compute as pc

    keys = list(columns.context)
    if any(name not in contexts.column_names for name in keys):
        raise UsageError(f"{NOTHING_NEW}, and these have no keys.", HINT)
    with keys_of_the_log():
        if actions is not None:
            if columns.action not in actions.column_names:
                raise no_such_column(columns.action, actions.column_names, where="the table of actions")
            allowed = actions[columns.action].cast(ranking[columns.action].type)
            ranking = ranking.filter(pc.is_in(ranking[columns.action], value_set=allowed.combine_chunks()))
        encoder = KeyEncoder.of(ranking.select(keys))
        own, asked = encoder.numbers(ranking.select(keys)), encoder.numbers(contexts.select(keys))
    if lacking := int((asked < 0).sum()):
        raise UsageError(f"{NOTHING_NEW}, or without one of the actions: {counted(lacking, 'context')}.", HINT)
    order = np.lexsort((to_numpy(ranking["rank"]), own))
    first = order[np.unique(own[order], return_index=True)[1]]
    chosen = ranking.take(to_arrow(first[asked]))
    return pa.table({**{name: contexts[name] for name in keys}, **{n: chosen[n] for n in (columns.action, "score")}})


def ranked_first(
    ranking: pa.Table,
    columns: Columns,
    contexts: pa.Table,
    actions: pa.Array,
    otherwise: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for every context the place of the first action of its ranking, and its score; else what is given.

    Args:
        ranking: the actions of every context with their ranks and scores.
        columns: the log's.
        contexts: a table with keys of contexts.
        actions: the actions to choose among.
        otherwise: places among them and scores for contexts that the ranking lacks.
    """
    import pyarrow.compute as pc

    chosen = deferring_choices(ranking, columns, contexts, pa.table({columns.action: actions}))
    known = to_numpy(chosen[columns.action].is_valid())
    place = to_numpy(pc.index_in(chosen[columns.action], value_set=actions.cast(chosen[columns.action].type)), null=-1)
    return np.where(known, place, otherwise[0]), np.where(known, to_numpy(chosen["score"].fill_null(0.0)), otherwise[1])
