"""Contexts and actions of a window, numbered, with their features as a format writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from warmstart.core import ACTION, DataError, temporary_folder, write_parquet
from warmstart.engine import describe, example_rows
from warmstart.events import counted_propensity
from warmstart.interop.features import NO_FEATURES, ROWS, Features, escape
from warmstart.interop.propensities import CLIPPED, clip_propensity
from warmstart.interop.vw.featurize import features_of_key, featurize

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine
    from warmstart.events import Cells
    from warmstart.interop.vw.formats import Format

NUMBER, FEATURES, FEASIBLE = "number", "features", "feasible"


@dataclass(frozen=True)
class Numbering:
    """The contexts and actions of a window, numbered from 0 in the order of their keys.

    ``contexts``: their keys, ``number``, ``features`` as written, and ``feasible``: the numbers of the actions shown
    there with their clipped propensities. ``action_numbers``: actions and their numbers. ``actions``: tag and features
    as written, by number. ``action_keys``: the actions, by number. ``without_features``: how many contexts and actions
    have no row in the feature tables.
    """

    contexts: ir.Table
    action_numbers: ir.Table
    actions: list[tuple[str, str]]
    action_keys: pa.Table
    without_features: int


@contextmanager
def open_numbering(cells: Cells, format_: Format, contexts: Any, actions: Any, *, tau: float) -> Iterator[Numbering]:
    """Number contexts and actions and write their features; the engine keeps these tables until it is left.

    ``contexts`` and ``actions`` are feature tables; without one, the keys themselves are the features.
    """
    engine, columns = cells.engine, cells.columns
    shown = cells.table.filter(cells.table.n > 0)
    of_action, of_context = {ACTION: columns.action}, dict(zip(columns.context_keys, columns.context, strict=True))
    with (
        temporary_folder("features") as folder,
        engine.materialise(_numbered(shown, of_action)) as action_numbers,
        engine.materialise(_numbered(shown, of_context)) as context_numbers,
    ):
        written = partial(_with_features, engine, format_=format_)
        texts = written(actions, action_numbers, of_action, path=Path(folder, "actions.parquet"))
        known = engine.fetch_arrow(texts.order_by(NUMBER))
        pairs = zip(known[ACTION].to_pylist(), known[FEATURES].to_pylist(), strict=True)
        tagged = [(escape(str(action)), text or format_.features(NO_FEATURES)) for action, text in pairs]
        texts = written(contexts, context_numbers, of_context, path=Path(folder, "contexts.parquet"))
        rows = texts.join(_feasible(shown, action_numbers, of_context, tau=tau), list(of_context))
        with engine.materialise(rows) as described:
            missing = engine.fetch(described.agg(n=described[FEATURES].isnull().cast("int64").sum()))[0]["n"] or 0
            missing += known[FEATURES].null_count
            yield Numbering(described, action_numbers, tagged, known.select([ACTION]), missing)


def context_tag(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the tag of a context: its value, escaped; those of several columns with commas between."""
    if len(keys) == 1:
        return escape(str(row[keys[0]]))
    return ",".join(escape(str(row[key])).replace(",", "%2C") for key in keys)


def _numbered(table: ir.Table, given: Mapping[str, str]) -> ir.Table:
    distinct = table.select(*given).distinct()
    return distinct.mutate(**{NUMBER: ibis.row_number().over(ibis.window(order_by=list(given)))})


def _feasible(shown: ir.Table, numbers: ir.Table, given: Mapping[str, str], *, tau: float) -> ir.Table:
    rows = shown.mutate(**{CLIPPED: clip_propensity(counted_propensity(shown), tau)}).join(numbers, ACTION)
    # Sorted as pairs: Spark cannot collect in an order.
    pairs = ibis.struct({NUMBER: rows[NUMBER], CLIPPED: rows[CLIPPED]}).collect().sort()
    return rows.group_by(*given).agg(**{FEASIBLE: pairs})


def _with_features(
    engine: Engine, source: Any, numbered: ir.Table, given: Mapping[str, str], *, format_: Format, path: Path
) -> ir.Table:
    """Return keys, numbers and features as a format writes them; null for a key without a row in the feature table.

    The features are written to a temporary file at ``path``, where the engine reads them.
    """
    batches = _keys_as_features(engine, numbered, given) if source is None else featurize(engine, source, given)
    tables = (
        keys.append_column(FEATURES, pa.array([format_.features(row) for row in rows], pa.string()))
        for keys, rows in batches
    )
    if not write_parquet(path, tables):
        return numbered.mutate(**{FEATURES: ibis.null("string")})
    texts = engine.open_files([str(path)], "parquet").table
    counts = texts.group_by(*given).agg(rows=texts.count())
    if source is not None and (twice := example_rows(engine, counts.filter(counts.rows > 1).drop("rows"), given)):
        raise DataError(f"{describe(source)} has two rows for one key ({twice}).")
    texts = texts.select(FEATURES, **{key: texts[key].cast(numbered[key].type()) for key in given})
    return numbered.left_join(texts, list(given)).select(*given, NUMBER, FEATURES)


def _keys_as_features(
    engine: Engine, numbered: ir.Table, given: Mapping[str, str]
) -> Iterator[tuple[pa.Table, list[Features]]]:
    side = "action" if ACTION in given else "context"
    for batch in engine.stream(numbered.select(*given), ROWS):
        yield pa.Table.from_batches([batch]), [features_of_key(given, side, row) for row in batch.to_pylist()]
