"""Feature tables of any shape as words with weights: the same columns that ``fit`` would use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import no_such_column
from warmstart.engine import open_whole
from warmstart.engine.files import expand, kind_of
from warmstart.features import TOKEN, FeatureSettings
from warmstart.interop.vw.features import Features, canonical

if TYPE_CHECKING:
    import pyarrow as pa

    from warmstart.engine import Engine

BATCH = 50_000
NO_BITS = 8


def described(
    engine: Engine, source: Any, keys: Sequence[str], *, what: str
) -> Iterator[tuple[pa.Table, list[Features]]]:
    """Give, batch by batch, the key columns of a feature table and the features of its rows.

    Lists of words and text are words; a category is ``column=value``; a number is ``column`` with that weight. A null
    is no feature.
    """
    settings: FeatureSettings | None = None
    for batch in _batches(engine, source):
        for key in keys:
            if key not in batch.column_names:
                raise no_such_column(key, batch.column_names, where=what)
        settings = settings or FeatureSettings.of_table(batch, list(keys), bits=NO_BITS, cross_only=False)
        yield batch.select(list(keys)), _rows(batch, settings)


def _rows(batch: pa.Table, settings: FeatureSettings) -> list[Features]:
    columns = [_column(batch, name, settings) for name in settings.kinds]
    return [canonical(pair for part in row for pair in part) for row in zip(*columns, strict=True)] or [
        Features((), ()) for _ in range(batch.num_rows)
    ]


def _column(batch: pa.Table, name: str, settings: FeatureSettings) -> list[list[tuple[str, float]]]:
    import pyarrow.compute as pc

    kind = settings.kinds[name]
    if kind == "text":
        tokens = pc.split_pattern_regex(pc.utf8_lower(pc.cast(batch[name], "string")), TOKEN)
        return [[(token, 1.0) for token in row or () if token] for row in tokens.to_pylist()]
    values = batch[name].to_pylist()
    if kind == "words":
        return [[(spelled, 1.0) for spelled in row or () if spelled] for row in values]
    if kind == "weighted words":
        weights = batch[settings.weights[name]].to_pylist()
        return [_weighted(row, of_row) for row, of_row in zip(values, weights, strict=True)]
    if kind == "category":
        return [[] if value is None else [(f"{name}={value}", 1.0)] for value in values]
    return [[] if value is None else _finite(name, float(value)) for value in values]


def _weighted(words: list[str] | None, weights: list[float] | None) -> list[tuple[str, float]]:
    pairs = zip(words or (), weights or (), strict=False)
    return [(spelled, float(w)) for spelled, w in pairs if spelled and w is not None and abs(w) < float("inf")]


def _finite(name: str, value: float) -> list[tuple[str, float]]:
    return [(name, value)] if abs(value) < float("inf") else []


def by_name(names: Mapping[str, str], side: str, row: Mapping[str, Any]) -> Features:
    """Describe a key by itself, in a namespace of its side.

    >>> by_name({"action": "ad"}, "action", {"action": 7}).words
    ('action^ad=7',)
    """
    return canonical((f"{side}^{given}={row[fixed]}", 1.0) for fixed, given in names.items())


def _batches(engine: Engine, source: Any) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    paths = expand(str(source)) if isinstance(source, str | Path) else []
    if paths and all(kind_of(path) == "parquet" for path in paths):
        for path in paths:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    yield from _sliced(file.read_row_group(group))
        return
    yield from _sliced(open_whole(engine, source))


def _sliced(table: pa.Table) -> Iterator[pa.Table]:
    for begin in range(0, max(table.num_rows, 1), BATCH):
        yield table.slice(begin, BATCH)
