"""Feature tables, read in batches, as rows in the order of the log's contexts or actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from warmstart.core.arrays import to_arrow
from warmstart.core.errors import DataError, no_such_column
from warmstart.core.text import counted
from warmstart.engine import open_whole
from warmstart.engine.databases import is_storage
from warmstart.engine.files import expand, kind_of
from warmstart.features.hashed import FeatureSettings, feature_rows
from warmstart.features.rows import FeatureRows

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.engine import Engine

BATCH = 200_000


class Numbers(Protocol):
    """Whatever knows the numbers of contexts or actions."""

    def __len__(self) -> int: ...

    def numbers(self, rows: pa.Table) -> NDArray[np.int64]:
        """Return the numbers of rows; -1 for one that is not known."""
        ...


@dataclass(frozen=True, eq=False)
class Side:
    """One side's features: settings, rows in the order of numbers, and how many had no row in the table."""

    settings: FeatureSettings
    rows: FeatureRows
    without: int


def read_side(
    engine: Engine,
    source: Any,
    keys: Mapping[str, str],
    numbers: Numbers,
    *,
    bits: int,
    cross_only: bool,
    strict: bool,
    what: str,
    settings: FeatureSettings | None = None,
) -> Side:
    """Read a side's table; ``keys`` maps the fixed names of its key columns to the user's.

    A context or action of the log without a row has no features but the constant; that is an error if ``strict``.
    ``settings`` are those of an earlier reading, if features must be made as they were then.
    """
    size = len(numbers)
    if source is None:
        alone_settings = settings or FeatureSettings(bits, constant=True)
        return Side(alone_settings, feature_rows(None, size, alone_settings), size)
    parts, places = [], []
    for batch in feature_batches(engine, source):
        for given in keys.values():
            if given not in batch.column_names:
                raise no_such_column(given, batch.column_names, where=what)
        found = numbers.numbers(batch.select(list(keys.values())).rename_columns(list(keys)))
        known = np.flatnonzero(found >= 0)
        settings = settings or FeatureSettings.of_table(batch, list(keys.values()), bits=bits, cross_only=cross_only)
        parts.append(feature_rows(batch.take(to_arrow(known)), len(known), settings))
        places.append(found[known])
    settings = settings or FeatureSettings(bits, constant=True)
    at = np.concatenate(places) if places else np.zeros(0, np.int64)
    seen = np.zeros(size, dtype=np.int64)
    np.add.at(seen, at, 1)
    if seen.max(initial=0) > 1:
        raise DataError(f"{what} has two rows for one key; {counted(int((seen > 1).sum()), 'key')} in all.")
    without = int((seen == 0).sum())
    if without and strict:
        raise DataError(f"{counted(without, 'key')} of the log have no row in {what}.", "Leave --strict out to go on.")
    alone = np.flatnonzero(seen == 0)
    parts.append(feature_rows(None, len(alone), FeatureSettings(bits, settings.constant)))
    rows = FeatureRows.joined(parts, np.concatenate([at, alone]))
    return Side(settings, rows, without)


def feature_batches(engine: Engine, source: Any) -> Iterator[pa.Table]:
    """Read a side's table a little at a time, where it is Parquet; else whole."""
    import pyarrow.parquet as pq

    paths = expand(str(source)) if isinstance(source, str | Path) and not is_storage(source) else []
    if paths and all(kind_of(path) == "parquet" for path in paths):
        for path in paths:
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                # By row group: Arrow cannot make batches of nested columns across them.
                table = file.read_row_group(group)
                for begin in range(0, table.num_rows, BATCH):
                    yield table.slice(begin, BATCH)
        return
    yield open_whole(engine, source)
