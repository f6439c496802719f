"""Hash features of contexts on the engine's workers, as columns of lists: buckets and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from warmstart.core import to_arrow
from warmstart.engine import Engine, PartitionedEngine, expand, is_storage, one_kind, open_every_column
from warmstart.features.hashed import Bits, feature_rows, least_of, settings_of_table
from warmstart.features.read import (
    BATCH,
    check_infinite,
    check_key_columns,
    check_rows_per_key,
    feature_batches,
    feature_report,
)
from warmstart.features.rows import FeatureRows
from warmstart.scoring import FeatureSettings

BUCKETS, VALUES = "feature_buckets", "feature_values"
LISTS = {BUCKETS: "array<int32>", VALUES: "array<float32>"}


@dataclass(frozen=True, eq=False)
class DistributedFeatures:
    """A materialised table of contexts: keys, ``feature_buckets, feature_values`` (null for ``missing`` rows)."""

    settings: FeatureSettings
    table: ir.CachedTable
    known: int
    missing: int

    @property
    def alone(self) -> FeatureRows:
        """Return the features of a context that has no row: one row."""
        return feature_rows(None, 1, FeatureSettings(self.settings.bits, self.settings.constant))

    def report(self, features: int | None, used: int) -> dict[str, Any]:
        """Return what ``Features.report`` does, with an estimated number of features (None: not known)."""
        report = feature_report(self.settings, self.known, self.missing, features or 0, used)
        sharing = None if features is None else report["sharing_a_bucket"]
        return {**report, "features": features, "sharing_a_bucket": sharing, "estimated": True}


def rows_of_lists(table: pa.Table, alone: FeatureRows) -> FeatureRows:
    """Return the sparse rows of a fetched part of ``DistributedFeatures.table``."""
    return FeatureRows.of_lists(table[BUCKETS], table[VALUES], alone)


def read_features_distributed(
    engine: PartitionedEngine,
    contexts: ir.Table,
    source: Any,
    columns: Mapping[str, str],
    *,
    bits: Bits,
    cross_only: bool,
    strict: bool,
    what: str,
    settings: FeatureSettings | None = None,
) -> DistributedFeatures:
    """Do what ``read_features`` does, with the same parameters, for the distinct contexts of a log in the engine.

    The table is not fetched, and the result is materialised in the engine.
    """
    if source is None:
        settings = settings or FeatureSettings(least_of(bits), constant=True)
        described = contexts.mutate(**{name: ibis.null(kind) for name, kind in LISTS.items()})
    else:
        table, rows = rows_of_log(engine, contexts, source, columns, what)
        if settings is None:
            sample = _sample(engine, source, table, columns)
            settings = settings_of_table(sample, list(columns.values()), bits=bits, cross_only=cross_only)
            check_infinite(_infinite(engine, rows, settings.columns), what)
        schema = ibis.schema({**{key: contexts[key].type() for key in columns}, **LISTS})
        encoded = engine.map_batches(rows, _encode, schema, inputs=(settings, tuple(columns)))
        described = contexts.left_join(encoded, list(columns)).drop(*(f"{key}_right" for key in columns))
    stored = engine.materialise(described.select(*columns, *LISTS))
    missing = stored[BUCKETS].isnull().cast("int64").sum()
    counts = engine.fetch(stored.agg(rows=stored.count(), missing=missing))[0]
    check_rows_per_key(0, counts["missing"] or 0 if strict and source is not None else 0, what)
    return DistributedFeatures(settings, stored, counts["rows"], counts["missing"] or 0)


def rows_of_log(
    engine: Engine, contexts: ir.Table, source: Any, columns: Mapping[str, str], what: str
) -> tuple[ir.Table, ir.Table]:
    """Open a table of contexts; return it, and its rows whose keys the log has, under the log's key names."""
    opened = open_every_column(engine, source)
    check_key_columns(columns, opened.names, what)
    place = {name: i for i, name in enumerate(opened.names)}
    table = opened.table
    keys = {key: _cast_key(table[place[given]], contexts[key].type()) for key, given in columns.items()}
    rest = [table[i] for name, i in place.items() if name not in columns.values()]
    rows = table.select(*rest, **keys).semi_join(contexts, list(columns))
    counts = rows.group_by(*columns).agg(rows=rows.count())
    repeats = counts.filter(counts.rows > 1)
    check_rows_per_key(engine.fetch(repeats.agg(keys=repeats.count()))[0]["keys"], 0, what)
    return table, rows


def _infinite(engine: PartitionedEngine, rows: ir.Table, names: Sequence[str]) -> dict[str, int]:
    """Count the rows with an infinite number, by column."""
    results = {}
    for name in names:
        column = rows[name]
        if isinstance(column, ir.FloatingValue):
            results[name] = _is_infinite(column)
        elif isinstance(column, ir.ArrayValue) and column.type().value_type.is_floating():
            results[name] = column.filter(_is_infinite).length() > 0
    return engine.fetch(rows.agg(**{name: is_so.sum() for name, is_so in results.items()}))[0] if results else {}


def _is_infinite(value: ir.NumericValue) -> ir.BooleanValue:
    # Ibis compiles isinf() to FALSE on Spark.
    return value.abs() == np.inf


def _cast_key(column: ir.Value, kind: dt.DataType) -> ir.Value:
    """Cast a key to the log's type; a number that would be rounded is no key of the log."""
    if column.type().is_floating() and kind.is_integer():
        return (column == column.floor()).ifelse(column.cast(kind), None)
    return column.cast(kind)


def _sample(engine: PartitionedEngine, source: Any, table: ir.Table, columns: Mapping[str, str]) -> pa.Table:
    """Return rows from which the kinds of columns are inferred: of Parquet files the first, as on one machine."""
    if isinstance(source, str | Path) and not is_storage(source) and one_kind(expand(str(source))) == "parquet":
        return next(feature_batches(engine, source))
    return engine.fetch_arrow(table.order_by(list(columns.values())).limit(BATCH))


def _encode(rows: pa.Table, inputs: tuple[FeatureSettings, tuple[str, ...]]) -> pa.Table:
    settings, keys = inputs
    features = feature_rows(rows, rows.num_rows, settings)
    starts = to_arrow(features.starts.astype("int32"))
    values = (to_arrow(features.buckets.astype("int32")), to_arrow(features.values))
    lists = [pa.ListArray.from_arrays(starts, column) for column in values]
    return pa.table([*(rows[key] for key in keys), *lists], names=[*keys, BUCKETS, VALUES])
