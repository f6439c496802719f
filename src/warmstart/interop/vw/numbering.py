"""Contexts and actions of a window, numbered, with their features as a format writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core import ACTION, DataError, write_parquet
from warmstart.engine import describe, example_rows
from warmstart.events import counted_propensity
from warmstart.interop.features import NO_FEATURES, Features, escape
from warmstart.interop.propensities import CLIPPED, clip_propensity
from warmstart.interop.vw.featurize import features_of_key, featurize

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import Engine
    from warmstart.events import Cells
    from warmstart.interop.vw.formats import Format

ROWS = 20_000
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

    Args:
        cells: the window.
        format_: how features are written.
        contexts: the feature table of contexts; without one, their keys are their features.
        actions: the feature table of actions, likewise.
        tau: the clipping constant of propensities.
    """
    engine, columns = cells.engine, cells.columns
    shown = cells.table.filter(cells.table.n > 0)
    of_action, of_context = {ACTION: columns.action}, dict(zip(columns.context_keys, columns.context, strict=True))
    with (
        TemporaryDirectory() as temporary,
        engine.materialise(_numbered(shown, of_action)) as action_numbers,
        engine.materialise(_numbered(shown, of_context)) as context_numbers,
    ):
        folder = Path(temporary)
        known = engine.fetch_arrow(
            _with_features(engine, actions, action_numbers, of_action, format_=format_, folder=folder).order_by(NUMBER)
        )
        tags = [escape(str(action)) for action in known[ACTION].to_pylist()]
        features = [text or format_.features(NO_FEATURES) for text in known[FEATURES].to_pylist()]
        feasible = _feasible(shown, action_numbers, of_context, tau=tau)
        rows = _with_features(engine, contexts, context_numbers, of_context, format_=format_, folder=folder).join(
            feasible, list(of_context)
        )
        with engine.materialise(rows) as described:
            missing = engine.fetch(described.agg(n=described[FEATURES].isnull().cast("int64").sum()))[0]["n"] or 0
            yield Numbering(
                described,
                action_numbers,
                list(zip(tags, features, strict=True)),
                known.select([ACTION]),
                missing + known[FEATURES].null_count,
            )


def context_tag(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the tag of a context: its value, escaped; those of several columns with commas between."""
    if len(keys) == 1:
        return escape(str(row[keys[0]]))
    return ",".join(escape(str(row[key])).replace(",", "%2C") for key in keys)


def _numbered(table: ir.Table, given: Mapping[str, str]) -> ir.Table:
    """Return the distinct keys of a table with their numbers, from 0, in order."""
    distinct = table.select(*given).distinct()
    return distinct.mutate(**{NUMBER: ibis.row_number().over(ibis.window(order_by=list(given)))})


def _feasible(shown: ir.Table, numbers: ir.Table, given: Mapping[str, str], *, tau: float) -> ir.Table:
    rows = shown.mutate(**{CLIPPED: clip_propensity(counted_propensity(shown, "evaluated"), tau)}).join(numbers, ACTION)
    # Sorted as pairs: Spark cannot collect in an order.
    pairs = ibis.struct({NUMBER: rows[NUMBER], CLIPPED: rows[CLIPPED]}).collect().sort()
    return rows.group_by(*given).agg(**{FEASIBLE: pairs})


def _with_features(
    engine: Engine, source: Any, numbered: ir.Table, given: Mapping[str, str], *, format_: Format, folder: Path
) -> ir.Table:
    """Return keys, numbers and features as a format writes them; null for a key without a row in the feature table.

    Args:
        engine: where the log is.
        source: the feature table; without one, the keys themselves are the features.
        numbered: the keys of the window with their numbers.
        given: the user's names of the key columns.
        format_: how features are written.
        folder: a temporary folder for the features.
    """
    import pyarrow as pa

    side = "action" if ACTION in given else "context"
    batches = _keys_as_features(engine, numbered, given, side) if source is None else featurize(engine, source, given)
    tables = (
        keys.append_column(FEATURES, pa.array([format_.features(row) for row in rows], pa.string()))
        for keys, rows in batches
    )
    path = folder / f"{side}.parquet"
    if not write_parquet(path, tables):
        return numbered.mutate(**{FEATURES: ibis.null("string")})
    texts = engine.open_files([str(path)], "parquet").table
    counts = texts.group_by(*given).agg(rows=texts.count())
    if source is not None and (twice := example_rows(engine, counts.filter(counts.rows > 1).drop("rows"), given)):
        raise DataError(f"{describe(source)} has two rows for one key ({twice}).")
    texts = texts.select(FEATURES, **{key: texts[key].cast(numbered[key].type()) for key in given})
    return numbered.left_join(texts, list(given)).select(*given, NUMBER, FEATURES)


def _keys_as_features(
    engine: Engine, numbered: ir.Table, given: Mapping[str, str], side: str
) -> Iterator[tuple[pa.Table, list[Features]]]:
    import pyarrow as pa

    for batch in engine.stream(numbered.select(*given), ROWS):
        yield pa.Table.from_batches([batch]), [features_of_key(given, side, row) for row in batch.to_pylist()]
