"""The ranking of a policy that defers, between Arrow and the arrays by which a service chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import to_arrow, to_numpy
from warmstart.policy.ranking_store import RANK, SCORE, RankingFile
from warmstart.policy.saved_actions import arrays_of, saved_keys
from warmstart.scoring import DECISIONS, RANKED_ARRAYS, Ranked, damaged, load_ranked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.core import Columns


def ranked_in(folder: Path, columns: Columns, actions: pa.Array) -> Ranked:
    """Return the ranking in a folder as arrays, contexts in the order of their keys.

    Args:
        folder: of the policy.
        columns: The log's.
        actions: The known ones.
    """
    import pyarrow.compute as pc

    names = list(columns.context)
    rows = RankingFile.at(folder / DECISIONS).to_arrow()
    rows = rows.sort_by([(name, "ascending") for name in (*names, RANK)])
    begins = np.flatnonzero(to_numpy(rows[RANK]) == 1)
    contexts = rows.take(to_arrow(begins))
    keys = tuple(saved_keys(contexts[name].combine_chunks(), f"context_{i}") for i, name in enumerate(names))
    numbers = pc.index_in(rows[columns.action], value_set=actions)
    return Ranked(keys, to_numpy(numbers).astype(np.uint32), to_numpy(rows[SCORE]), np.append(begins, rows.num_rows))


def ranked_arrays(ranked: Ranked) -> dict[str, NDArray[Any]]:
    """Return the arrays to save, by their file."""
    arrays = {spec.file: getattr(ranked, name) for name, spec in RANKED_ARRAYS.items()}
    for keys in ranked.contexts:
        arrays |= arrays_of(keys)
    return arrays


def check_ranked(folder: Path, about: Mapping[str, Any], columns: Columns, actions: pa.Array) -> None:
    """Refuse arrays that do not say what the ranking says: a service would choose something else."""
    ranked = ranked_in(folder, columns, actions)
    if about["context_types"] != [keys.kind for keys in ranked.contexts]:
        raise damaged(DECISIONS, "context columns must have the types that policy.json names")
    saved = ranked_arrays(load_ranked(folder, about["context_types"], len(actions)))
    for file, array in ranked_arrays(ranked).items():
        if not np.array_equal(array, saved[file]):
            raise damaged(file, f"must say what {DECISIONS} says")
