"""Contexts and actions of a window, numbered, and described in the words of a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.errors import DataError
from warmstart.core.names import ACTION
from warmstart.core.text import quoted
from warmstart.engine.sources import describe
from warmstart.interop.vw.features import Features, escaped
from warmstart.interop.vw.featurize import by_name, described
from warmstart.propensity import counted_propensity

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import Engine, LocalEngine
    from warmstart.events import Cells
    from warmstart.interop.vw.formats import Spelling

ROWS = 20_000
NUMBER, FEATURES, FEASIBLE, FLOORED = "number", "features", "feasible", "floored"
NOTHING = Features((), ())


@dataclass(frozen=True)
class Numbered:
    """The two sides of a window.

    ``contexts``: their keys, number, features as spelled, and ``feasible``: the numbers of the actions shown there with
    their propensities, at least tau. ``action_numbers``: actions and their numbers. ``actions``: tag and
    features as spelled, by number. ``action_keys``: the actions, by number. ``bare``: how many had no row of features.
    """

    contexts: ir.Table
    action_numbers: ir.Table
    actions: list[tuple[str, str]]
    action_keys: pa.Table
    bare: int


@contextmanager
def open_numbered(cells: Cells, spelling: Spelling, contexts: Any, actions: Any, *, tau: float) -> Iterator[Numbered]:
    """Number and describe contexts and actions; they are held in the engine until it is left."""
    engine, columns = cells.engine, cells.columns
    shown = cells.table.filter(cells.table.n > 0)
    acting, knowing = {ACTION: columns.action}, dict(zip(columns.context_keys, columns.context, strict=True))
    with ExitStack() as stack, TemporaryDirectory() as folder:
        numbers = stack.enter_context(_held(engine, _numbered(shown, acting)))
        texts = _spelled(engine, actions, numbers, acting, spelling=spelling, side="action", folder=Path(folder))
        known = engine.fetch_arrow(_with_features(numbers, texts, acting).order_by(NUMBER))
        tags = [escaped(str(value)) for value in known[ACTION].to_pylist()]
        features = [text or "" for text in known[FEATURES].to_pylist()]
        spelled = [text or spelling.features(NOTHING) for text in features]
        placed = stack.enter_context(_held(engine, _numbered(shown, knowing)))
        texts = _spelled(engine, contexts, placed, knowing, spelling=spelling, side="context", folder=Path(folder))
        rows = _with_features(placed, texts, knowing).join(_feasible(shown, numbers, knowing, tau=tau), list(knowing))
        held = stack.enter_context(_held(engine, rows))
        bare = engine.fetch(held.agg(n=held[FEATURES].isnull().cast("int64").sum()))[0]["n"] or 0
        bare += known[FEATURES].null_count
        yield Numbered(held, numbers, list(zip(tags, spelled, strict=True)), known.select([ACTION]), bare)


def context_tag(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Write a context as a tag: its value, escaped; those of several columns with commas between."""
    if len(keys) == 1:
        return escaped(str(row[keys[0]]))
    return ",".join(escaped(str(row[key])).replace(",", "%2C") for key in keys)


@contextmanager
def _held(engine: LocalEngine, expression: ir.Table) -> Iterator[ir.Table]:
    held = engine.materialise(expression)
    try:
        yield held
    finally:
        held.release()


def _numbered(table: ir.Table, given: Mapping[str, str]) -> ir.Table:
    """Return the distinct keys of a table with their numbers, from 0, in order."""
    distinct = table.select(*given).distinct()
    return distinct.mutate(**{NUMBER: ibis.row_number().over(ibis.window(order_by=list(given)))})


def _feasible(shown: ir.Table, numbers: ir.Table, given: Mapping[str, str], *, tau: float) -> ir.Table:
    floored = ibis.greatest(counted_propensity(shown, "evaluated"), ibis.literal(tau).cast("float64"))
    rows = shown.mutate(floored=floored).join(numbers, ACTION)
    # Sorted as pairs: Spark cannot collect in an order.
    pairs = ibis.struct({NUMBER: rows[NUMBER], FLOORED: rows.floored}).collect().sort()
    return rows.group_by(*given).agg(**{FEASIBLE: pairs})


def _with_features(numbered: ir.Table, texts: ir.Table, given: Mapping[str, str]) -> ir.Table:
    cast = texts.select(FEATURES, **{key: texts[key].cast(numbered[key].type()) for key in given})
    return numbered.left_join(cast, list(given)).select(*given, NUMBER, FEATURES)


def _spelled(
    engine: Engine,
    source: Any,
    numbered: ir.Table,
    given: Mapping[str, str],
    *,
    spelling: Spelling,
    side: str,
    folder: Path,
) -> ir.Table:
    """Write keys and features as spelled, from a table or from the keys themselves, a batch at a time; open that."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{side}.parquet"
    batches = _named(engine, numbered, given, side) if source is None else _told(engine, source, given)
    with ExitStack() as stack:
        writer = None
        for keys, rows in batches:
            texts = pa.array([spelling.features(row) for row in rows], pa.string())
            table = keys.append_column(FEATURES, texts)
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)
    opened = engine.open_files([str(path)], "parquet").table
    if source is not None:
        _check_once(engine, opened, given, describe(source))
    return opened


def _named(
    engine: Engine, numbered: ir.Table, given: Mapping[str, str], side: str
) -> Iterator[tuple[pa.Table, list[Features]]]:
    import pyarrow as pa

    for batch in engine.stream(numbered.select(*given), ROWS):
        yield pa.Table.from_batches([batch]), [by_name(given, side, row) for row in batch.to_pylist()]


def _told(engine: Engine, source: Any, given: Mapping[str, str]) -> Iterator[tuple[pa.Table, list[Features]]]:
    for keys, rows in described(engine, source, list(given.values()), what=describe(source)):
        yield keys.rename_columns(list(given)), rows


def _check_once(engine: Engine, table: ir.Table, given: Mapping[str, str], where: str) -> None:
    counts = table.group_by(*given).agg(rows=table.count())
    twice = engine.fetch(counts.filter(counts.rows > 1).limit(1))
    if twice:
        named = ", ".join(f"{name} = {quoted(twice[0][fixed])}" for fixed, name in given.items())
        raise DataError(f"{where} has two rows for one key ({named}).")
