"""Read feature tables in batches, as sparse rows in the order of the log's contexts or actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from warmstart.core import DataError, MissingValueError, counted, no_such_column, quoted, to_arrow
from warmstart.engine import Engine, expand, is_storage, kind_of, open_whole
from warmstart.features.columns import infinite_of
from warmstart.features.hashed import Bits, feature_rows, least_of, settings_of_table
from warmstart.features.keys import KeyEncoder
from warmstart.features.rows import FeatureRows
from warmstart.scoring import FeatureSettings

BATCH = 200_000


@dataclass(frozen=True, eq=False)
class Features:
    """Features of contexts or actions: a row for each in the order of its number; ``missing``: keys without a row."""

    settings: FeatureSettings
    rows: FeatureRows
    missing: int

    def report(self) -> dict[str, Any]:
        """Return the numbers of keys, features and buckets, for a policy's report."""
        return feature_report(self.settings, len(self.rows), self.missing, self.rows.names, self.rows.used)


def read_features(
    engine: Engine,
    source: Any,
    columns: Mapping[str, str],
    keys: KeyEncoder,
    *,
    bits: Bits,
    cross_only: bool,
    strict: bool,
    what: str,
    settings: FeatureSettings | None = None,
) -> Features:
    """Read a table of contexts or actions as hashed sparse features.

    A key of the log without a row in the table has no features but the constant. Infinite numbers are refused where
    settings are inferred: nothing can be learned from them.

    Args:
        engine: opens the source.
        source: a table, or None for no features but the constant.
        columns: from the fixed names of the key columns to the user's.
        keys: the contexts or actions of the log.
        bits: features are hashed into 2^bits buckets; or the least and the most bits, between which features decide.
        cross_only: leave out the constant.
        strict: refuse a table that lacks a key of the log.
        what: the table's name in messages.
        settings: those of an earlier reading, to make the same features again.
    """
    if source is None:
        settings = settings or FeatureSettings(least_of(bits), constant=True)
        return Features(settings, feature_rows(None, len(keys), settings), len(keys))
    parts, places = [], [np.zeros(0, np.int64)]
    is_new = settings is None
    for batch in feature_batches(engine, source):
        check_key_columns(columns, batch.column_names, what)
        numbers = keys.numbers(batch.select(list(columns.values())).rename_columns(list(columns)))
        known = np.flatnonzero(numbers >= 0)
        settings = settings or settings_of_table(batch, list(columns.values()), bits=bits, cross_only=cross_only)
        rows = batch.take(to_arrow(known))
        if is_new:
            infinite = {name: infinite_of(rows[name].combine_chunks()) for name in settings.columns}
            check_infinite({name: int(is_so.sum()) for name, is_so in infinite.items()}, what)
        parts.append(feature_rows(rows, len(known), settings))
        places.append(numbers[known])
    settings = settings or FeatureSettings(least_of(bits), constant=True)
    rows_of_key = np.bincount(np.concatenate(places), minlength=len(keys))
    alone = np.flatnonzero(rows_of_key == 0)
    check_rows_per_key(int((rows_of_key > 1).sum()), len(alone) if strict else 0, what)
    parts.append(feature_rows(None, len(alone), FeatureSettings(settings.bits, settings.constant)))
    return Features(settings, FeatureRows.joined(parts, np.concatenate([*places, alone])), len(alone))


def check_key_columns(columns: Mapping[str, str], names: Sequence[str], what: str) -> None:
    """Refuse a table that lacks a key column."""
    for given in columns.values():
        if given not in names:
            raise no_such_column(given, names, where=what)


def check_rows_per_key(repeated: int, missing: int, what: str) -> None:
    """Refuse a table with so many keys of several rows, or of none."""
    if repeated:
        raise DataError(f"{what} has two rows for one key; {counted(repeated, 'key')} in all.")
    if missing:
        raise DataError(f"{counted(missing, 'key')} of the log have no row in {what}.", "Leave --strict out to go on.")


def check_infinite(rows: Mapping[str, int], what: str) -> None:
    """Refuse columns with infinite numbers; ``rows``: how many rows have one, by column."""
    if result := {name: number for name, number in rows.items() if number}:
        parts = ", ".join(f"{quoted(name)} in {counted(number, 'row')}" for name, number in result.items())
        raise MissingValueError(f"{what} has infinite numbers: {parts}.", "Leave them out (null), or cut them off.")


def feature_report(settings: FeatureSettings, known: int, missing: int, features: int, used: int) -> dict[str, Any]:
    """Return what a policy reports of its contexts or actions.

    Args:
        settings: how the table became features.
        known: the number of contexts or actions.
        missing: how many of them had no row in the table.
        features: the number of different features.
        used: the number of buckets they fall into.
    """
    return {
        "known": known,
        "without_features": missing,
        "features": features,
        "buckets": 1 << settings.bits,
        "sharing_a_bucket": 1 - used / features if features else 0.0,
        "columns": list(settings.kinds),
        "left_out": list(settings.left_out),
    }


def feature_batches(engine: Engine, source: Any) -> Iterator[pa.Table]:
    """Read a feature table in batches, where it is Parquet; else whole."""
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
