"""Feature tables of any shape as named features with weights: the same columns that ``fit`` would use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

from warmstart.core import no_such_column
from warmstart.engine import describe
from warmstart.features import TOKEN, feature_batches, settings_of_table
from warmstart.interop.features import NO_FEATURES, Features, canonical
from warmstart.scoring import FeatureSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from warmstart.engine import Engine

BATCH = 50_000


def featurize(engine: Engine, source: Any, given: Mapping[str, str]) -> Iterator[tuple[pa.Table, list[Features]]]:
    """Give, batch by batch, the key columns of a feature table and the features of its rows.

    ``given`` maps the names that key columns get to those that they have. Lists of words and text are features named
    by the word; a category is ``column=value``; a number is ``column`` with that weight. A null is no feature.
    """
    settings: FeatureSettings | None = None
    keys = list(given.values())
    for batch in feature_batches(engine, source):
        for key in keys:
            if key not in batch.column_names:
                raise no_such_column(key, batch.column_names, where=describe(source))
        # Nothing is hashed here, so any number of bits does.
        settings = settings or settings_of_table(batch, keys, bits=8, cross_only=False)
        for begin in range(0, batch.num_rows, BATCH):
            part = batch.slice(begin, BATCH)
            yield part.select(keys).rename_columns(list(given)), _features_of_rows(part, settings)


def features_of_key(given: Mapping[str, str], side: str, row: Mapping[str, Any]) -> Features:
    """Return features that say nothing but the key, in a namespace of its side.

    >>> features_of_key({"action": "ad"}, "action", {"action": 7}).words
    ('action^ad=7',)
    """
    return canonical((f"{side}^{name}={row[fixed]}", 1.0) for fixed, name in given.items())


def _features_of_rows(batch: pa.Table, settings: FeatureSettings) -> list[Features]:
    columns = [_features_of_column(batch, name, settings) for name in settings.kinds]
    if not columns:
        return [NO_FEATURES] * batch.num_rows
    return [canonical(chain.from_iterable(row)) for row in zip(*columns, strict=True)]


def _features_of_column(batch: pa.Table, name: str, settings: FeatureSettings) -> list[list[tuple[str, float]]]:
    import pyarrow.compute as pc

    kind = settings.kinds[name]
    if kind == "text":
        tokens = pc.split_pattern_regex(pc.utf8_lower(pc.cast(batch[name], "string")), TOKEN)
        return [[(token, 1.0) for token in row or () if token] for row in tokens.to_pylist()]
    values = batch[name].to_pylist()
    if kind == "words":
        return [[(word, 1.0) for word in row or () if word] for row in values]
    if kind == "weighted words":
        weights = batch[settings.weights[name]].to_pylist()
        return [_weighted_words(row or (), of_row or ()) for row, of_row in zip(values, weights, strict=True)]
    if kind == "category":
        return [[] if value is None else [(f"{name}={value}", 1.0)] for value in values]
    return [[(name, float(value))] if value is not None and isfinite(value) else [] for value in values]


def _weighted_words(words: Any, weights: Any) -> list[tuple[str, float]]:
    pairs = zip(words, weights, strict=False)
    return [(word, float(weight)) for word, weight in pairs if word and weight is not None and isfinite(weight)]
