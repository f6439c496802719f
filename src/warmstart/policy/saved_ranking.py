"""Check the ranking of a saved policy, column by column, with Arrow and NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import types

from warmstart.core import Columns, first_lines, printable, quoted, to_arrow, to_numpy, without_minus_zero
from warmstart.policy.ranking_store import RANK, SCORE
from warmstart.scoring import DECISIONS, damaged

# Rankings have about 3 rows a byte at the most, if all contexts have the same actions and scores: more rows repeat
# themselves, and would be read into memory to say so.
MOST_ROWS_PER_BYTE, FEW_ROWS = 32, 100_000
_KEY_TYPES = (
    types.is_integer,
    types.is_floating,
    types.is_decimal,
    types.is_boolean,
    types.is_string,
    types.is_large_string,
    types.is_date,
    types.is_time,
    types.is_timestamp,
    types.is_binary,
    types.is_large_binary,
)


def type_of_actions(folder: Path, columns: Columns, kind: str) -> pa.DataType:
    """Return the type of the ranking's actions, which must be the one that policy.json names."""
    with _parquet(folder / DECISIONS) as file:
        schema = file.schema_arrow
    _check_names(schema, columns)
    given = schema.field(columns.action).type
    if str(given) != kind:
        raise damaged(DECISIONS, f"{printable(columns.action)} must have the type {kind}, and has {printable(given)}")
    return given


def check_ranking(folder: Path, columns: Columns, actions: pa.Array, *, may_be_empty: bool = False) -> None:
    """Refuse a ranking whose ranks are not 1 to k in every context, whose pairs repeat, or whose keys are not known.

    Columns are read one at a time; memory is that of one column and of four numbers a row. A policy that defers may act
    nowhere (``may_be_empty``).
    """
    import pyarrow.compute as pc

    with _parquet(folder / DECISIONS) as file:
        if file.metadata.num_rows > max(FEW_ROWS, MOST_ROWS_PER_BYTE * (folder / DECISIONS).stat().st_size):
            raise damaged(DECISIONS, f"has {file.metadata.num_rows:,} rows, too many for its size")
        _check_schema(file.schema_arrow, columns, actions.type)
        if may_be_empty and not file.metadata.num_rows:
            return
        contexts, size = _contexts(file, columns)
        places = _check_ranks(contexts, size, _column(file, DECISIONS, RANK))
        _check_scores(contexts, places, _column(file, DECISIONS, SCORE))
        chosen = pc.index_in(_column(file, DECISIONS, columns.action), value_set=actions)
    if chosen.null_count:
        raise damaged(DECISIONS, f"{printable(columns.action)} must be a known action")
    pairs = np.sort(contexts * len(actions) + to_numpy(chosen))
    if bool((pairs[1:] == pairs[:-1]).any()):
        raise damaged(DECISIONS, f"{printable(columns.action)} must not be twice in a context")


def check_rows(rows: pa.Table, columns: Columns, action: pa.DataType) -> None:
    """Refuse rows of a ranking, before they are saved, by their types, keys and scores."""
    _check_schema(rows.schema, columns, action)
    for name in (*columns.context, columns.action):
        _encoded(rows[name].combine_chunks(), DECISIONS, name)
    _check_score_range(rows[SCORE])


def _check_names(schema: pa.Schema, columns: Columns) -> None:
    names = [*columns.context, columns.action, RANK, SCORE]
    if schema.names != names:
        raise damaged(DECISIONS, f"must have the columns {', '.join(map(quoted, names))}, in this order")


def _check_schema(schema: pa.Schema, columns: Columns, action: pa.DataType) -> None:
    _check_names(schema, columns)
    for name in columns.context:
        _check_key_type(DECISIONS, schema.field(name))
    for name, kind in ((columns.action, action), (RANK, pa.int32()), (SCORE, pa.float64())):
        if schema.field(name).type != kind:
            what = f"{printable(name)} must have the type {kind}, and has {schema.field(name).type}"
            raise damaged(DECISIONS, what)


def _check_key_type(file: str, field: pa.Field) -> None:
    if not any(fits(field.type) for fits in _KEY_TYPES):
        raise damaged(file, f"{printable(field.name)} has the type {printable(field.type)}, which is none of keys")


def _contexts(file: pq.ParquetFile, columns: Columns) -> tuple[NDArray[np.int64], int]:
    """Return the number of every row's context, and how many contexts there are."""
    first, *others = columns.context
    numbers, distinct = _encoded(_column(file, DECISIONS, first), DECISIONS, first)
    size = len(distinct)
    for name in others:
        added, distinct = _encoded(_column(file, DECISIONS, name), DECISIONS, name)
        together = to_arrow(numbers * len(distinct) + added).dictionary_encode()
        numbers, size = to_numpy(together.indices).astype(np.int64), len(together.dictionary)
    if not len(numbers):
        raise damaged(DECISIONS, "has no rows")
    return numbers, size


def _check_ranks(contexts: NDArray[np.int64], size: int, ranks: pa.Array) -> NDArray[np.int64]:
    """Return the place of every row in the order of contexts and ranks."""
    if ranks.null_count:
        raise damaged(DECISIONS, f"{RANK} must not be null")
    counts, rank = np.bincount(contexts, minlength=size), to_numpy(ranks)
    if not bool(np.all((rank >= 1) & (rank <= counts[contexts]))):
        raise damaged(DECISIONS, f"{RANK} must be 1 to k without gaps in every context")
    # Every context has as many places as rows: all are taken only if no rank is there twice.
    taken = np.zeros(len(rank), dtype=bool)
    places: NDArray[np.int64] = (np.cumsum(counts) - counts)[contexts] + rank - 1
    taken[places] = True
    if not taken.all():
        raise damaged(DECISIONS, f"{RANK} must be unique in every context")
    return places


def _check_scores(contexts: NDArray[np.int64], places: NDArray[np.int64], scores: pa.Array) -> None:
    _check_score_range(scores)
    order = np.empty_like(places)
    order[places] = np.arange(len(places))
    context, score = contexts[order], to_numpy(scores)[order]
    if bool(((score[1:] > score[:-1]) & (context[1:] == context[:-1])).any()):
        raise damaged(DECISIONS, f"{SCORE} must not increase with {RANK} in a context")


def _check_score_range(scores: pa.Array | pa.ChunkedArray) -> None:
    """Refuse scores that are no numbers from 0 to 1; a null is NaN here, and refused too."""
    values = to_numpy(scores)
    if not bool(np.all((values >= 0) & (values <= 1))):
        raise damaged(DECISIONS, f"{SCORE} must be a finite number from 0 to 1")


def _encoded(column: pa.Array, file: str, name: str) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the number of every key, and the distinct keys; nulls and NaN are refused."""
    try:
        encoded = without_minus_zero(column).dictionary_encode()
        distinct = encoded.dictionary
        distinct.validate(full=True)
    except (ValueError, pa.ArrowException) as error:
        raise damaged(file, f"{printable(name)} cannot be read ({first_lines(error)})") from error
    if encoded.null_count:
        raise damaged(file, f"{printable(name)} must not be null")
    if types.is_floating(distinct.type) and not np.isfinite(to_numpy(distinct.cast("float64"))).all():
        raise damaged(file, f"{printable(name)} must be finite")
    return to_numpy(encoded.indices).astype(np.int64), distinct


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise damaged(path.name, f"is no Parquet file ({first_lines(error)})") from error


def _column(file: pq.ParquetFile, name: str, column: str) -> pa.Array:
    try:
        whole = file.read(columns=[column], use_threads=False).column(column)
        read = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise damaged(name, f"{printable(column)} cannot be read ({first_lines(error)})") from error
    if len(read) != file.metadata.num_rows:
        raise damaged(name, f"{printable(column)} has {len(read):,} rows, and the file says {file.metadata.num_rows:,}")
    return read
