"""Features of contexts as lists of buckets and values, made where their table is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.arrays import to_arrow
from warmstart.core.errors import DataError, no_such_column
from warmstart.core.text import counted
from warmstart.engine.databases import is_storage
from warmstart.engine.files import expand, one_kind
from warmstart.engine.sources import open_every_column
from warmstart.features.hashed import FeatureSettings, feature_rows
from warmstart.features.read import BATCH, feature_batches
from warmstart.features.rows import FeatureRows

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import PartitionedEngine

BUCKETS, VALUES = "feature_buckets", "feature_values"


@dataclass(frozen=True, eq=False)
class EncodedSide:
    """Contexts of a log, held in the engine: keys, ``feature_buckets, feature_values`` (null without a row)."""

    settings: FeatureSettings
    table: ir.CachedTable
    known: int
    without: int

    @property
    def alone(self) -> FeatureRows:
        """Return the features of a context that has no row: one row."""
        return feature_rows(None, 1, FeatureSettings(self.settings.bits, self.settings.constant))


def encode_side(
    engine: PartitionedEngine,
    contexts: ir.Table,
    source: Any,
    keys: Mapping[str, str],
    *,
    bits: int,
    cross_only: bool,
    strict: bool,
    what: str,
    settings: FeatureSettings | None = None,
) -> EncodedSide:
    """Do what ``read_side`` does, without bringing the table here; ``keys`` maps fixed names to the user's."""
    described, alone = contexts, settings or FeatureSettings(bits, constant=True)
    nothing = {BUCKETS: ibis.null("array<int32>"), VALUES: ibis.null("array<float32>")}
    if source is None:
        described = contexts.mutate(**nothing)
    else:
        rows, sample = _described(engine, contexts, source, keys, what)
        alone = settings or FeatureSettings.of_table(sample(), list(keys.values()), bits=bits, cross_only=cross_only)
        kinds = {key: contexts[key].type() for key in keys}
        schema = ibis.schema({**kinds, BUCKETS: "array<int32>", VALUES: "array<float32>"})
        encoded = engine.map_batches(rows, _encode, schema, inputs=(alone, tuple(keys)))
        described = contexts.left_join(encoded, list(keys)).drop(*(f"{key}_right" for key in keys))
    held = engine.materialise(described.select(*keys, BUCKETS, VALUES))
    found = engine.fetch(held.agg(rows=held.count(), without=held[BUCKETS].isnull().cast("int64").sum()))[0]
    without = found["without"] or 0
    if without and strict and source is not None:
        raise DataError(f"{counted(without, 'key')} of the log have no row in {what}.", "Leave --strict out to go on.")
    return EncodedSide(alone, held, found["rows"], without)


def _described(
    engine: PartitionedEngine, contexts: ir.Table, source: Any, keys: Mapping[str, str], what: str
) -> tuple[ir.Table, Callable[[], pa.Table]]:
    """Open the rows of a side's table that the log knows, under the log's keys; and some of it, when asked for."""
    opened = open_every_column(engine, source)
    for given in keys.values():
        if given not in opened.names:
            raise no_such_column(given, opened.names, where=what)
    place = {name: i for i, name in enumerate(opened.names)}
    table = opened.table
    of_log = {key: _as_in_log(table[place[given]], contexts[key].type()) for key, given in keys.items()}
    rest = [table[i] for name, i in place.items() if name not in keys.values()]
    rows = table.select(*rest, **of_log).semi_join(contexts, list(keys))
    counts = rows.group_by(*keys).agg(rows=rows.count())
    repeats = counts.filter(counts.rows > 1)
    if many := engine.fetch(repeats.agg(keys=repeats.count()))[0]["keys"]:
        raise DataError(f"{what} has two rows for one key; {counted(many, 'key')} in all.")
    return rows, lambda: _some(engine, source, table, keys)


def _as_in_log(column: ir.Value, kind: dt.DataType) -> ir.Value:
    """Cast a key to the log's type; a number that would be rounded is no key of the log."""
    if column.type().is_floating() and kind.is_integer():
        return (column == column.floor()).ifelse(column.cast(kind), None)
    return column.cast(kind)


def _some(engine: PartitionedEngine, source: Any, table: ir.Table, keys: Mapping[str, str]) -> pa.Table:
    """Return the rows that tell what the columns are: of Parquet files the first, as on one machine."""
    if isinstance(source, str | Path) and not is_storage(source) and one_kind(expand(str(source))) == "parquet":
        return next(feature_batches(engine, source))
    return engine.fetch_arrow(table.order_by(list(keys.values())).limit(BATCH))


def _encode(rows: pa.Table, inputs: tuple[FeatureSettings, tuple[str, ...]]) -> pa.Table:
    import pyarrow as pa

    settings, keys = inputs
    found = feature_rows(rows, rows.num_rows, settings)
    starts = to_arrow(found.starts.astype("int32"))
    lists = [
        pa.ListArray.from_arrays(starts, to_arrow(found.buckets.astype("int32"))),
        pa.ListArray.from_arrays(starts, to_arrow(found.values)),
    ]
    return pa.table([*(rows[key] for key in keys), *lists], names=[*keys, BUCKETS, VALUES])
