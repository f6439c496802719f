"""Write a log with the group of each event's text or embedding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from warmstart.core import (
    TIME,
    DataError,
    EmptyWindowError,
    Moment,
    Progress,
    UsageError,
    check_output,
    microseconds,
    no_such_column,
    quoted,
    silent,
    to_numpy,
    write_output,
    write_parquet,
)
from warmstart.engine import describe, open_every_column, resolve_engine, stored_table
from warmstart.events import as_time
from warmstart.grouping.fit import fit_grouping
from warmstart.grouping.grouping import NONE, VALUE, Grouping
from warmstart.grouping.storage import load_grouping, save_grouping
from warmstart.results import Grouped, GroupSize, GroupsTried

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

GROUP, EVENTS = "group", "events.parquet"
# More different values than this are sampled to fit, by their MD5.
MOST_VALUES = 100_000
DIGITS = 8


def group(
    source: Any,
    out: str | Path,
    *,
    text: str | None = None,
    embedding: str | None = None,
    texts: Any = None,
    on: str | Mapping[str, str] | None = None,
    grouping: str | Path | None = None,
    groups: int | None = None,
    least: int = 200,
    features: int = 0,
    keep_text: bool = False,
    seed: int = 0,
    time: str | None = None,
    train_until: Moment | None = None,
    table: str | None = None,
    engine: str | Engine = "duckdb",
    on_progress: Progress = silent,
) -> Grouped:
    """Group events by their texts (prompts), so that contexts repeat, and write the log with a column ``group``.

    Fits hashed TF-IDF, truncated SVD and k-means to the different texts, or k-means to embeddings, and saves the
    grouping with the log (``events.parquet``) in a new folder; ``grouping`` assigns with one that was saved before.
    Neither actions nor rewards are read. The same input gives the same groups on any number of threads. Texts are left
    out of the written log, and groups are named by words that at least five texts of theirs share.

    Args:
        source: the log.
        out: the folder to write: a new or an empty one.
        text: the column of texts.
        embedding: a column of lists of numbers, instead of texts.
        texts: another table that has the texts or embeddings.
        on: the column by which both know an event; a mapping, if the other table has another name for it.
        grouping: a folder that this function wrote.
        groups: their number; by default the fewest that explain four fifths of what any number with ``least`` events in
            each explains.
        least: the events that a group needs where the number is chosen.
        features: so many numbers tell where each text lies, as columns ``COLUMN_1, ...`` (the first directions of the
            SVD): contexts for modelled propensities, by prompt. A saved grouping gives new texts the same numbers.
        keep_text: write the texts, too.
        seed: of k-means.
        time: the column of times, for ``train_until``.
        train_until: fit to the events before this moment only; all are assigned.
        table: the table in a database that ``source`` names.
        engine: "duckdb", or an engine.
        on_progress: called with the name of each step.
    """
    column, path = _column(text, embedding), Path(out)
    if grouping is not None and (groups is not None or train_until is not None):
        given = "groups (--groups)" if groups is not None else "train_until (--train-until)"
        raise UsageError(f"A saved grouping has its groups already; {given} is for fitting one.", "Leave out either.")
    if (time is None) != (train_until is None):
        raise UsageError("time and train_until belong together: the column of times, and the end of what is learned.")
    if features < 0:
        raise UsageError(f"There cannot be {features} features.")
    if (texts is None) != (on is None):
        raise UsageError("texts and on belong together: another table, and the column by which both know an event.")
    inputs = [source, texts, grouping]
    check_output(path, inputs=inputs, folder=True)
    saved = None if grouping is None else load_grouping(grouping)
    if saved is not None and (saved.projection is None) != (text is None):
        raise UsageError(f"{quoted(str(grouping))} groups {'texts' if text is None else 'embeddings'}.")
    resolved, shown = resolve_engine(stored_table(source, table), engine)
    log = _open(resolved, shown, column, texts, on, features=features)
    tried: tuple[GroupsTried, ...] = ()
    fitted_on = None
    if saved is None:
        on_progress("reading texts")
        known = log if time is None or train_until is None else _before(resolved, log, time, train_until)
        values, counts, fitted_on = _different(resolved, known)
        on_progress("grouping")
        fitted = fit_grouping(values, counts, groups=groups, least=least, seed=seed)
        saved, tried = fitted.grouping, fitted.tried
    sizes: Counter[str] = Counter()
    on_progress("writing")
    with write_output(path, inputs=inputs, folder=True) as folder:
        save_grouping(saved, folder)
        batches = _grouped(resolved, log, saved, sizes, keep_text=keep_text)
        rows = write_parquet(folder / EVENTS, batches)
    if not rows:
        raise EmptyWindowError(f"{describe(source)} has no rows.")
    listed = tuple(GroupSize(name, sizes[name]) for name in saved.names)
    return Grouped(path, rows, listed, sizes[NONE], tried, keep_text, log.features, fitted_on)


@dataclass(frozen=True)
class _Log:
    """The log in an engine: ``column_0, ...`` under the user's names, and the value to group by.

    ``own``: which of the columns it is, if it is one of the log's. ``features``: the names of its numbers.
    """

    table: ir.Table
    names: tuple[str, ...]
    own: int | None
    features: tuple[str, ...] = ()


def _column(text: str | None, embedding: str | None) -> str:
    if (text is None) == (embedding is None):
        raise UsageError("Name the column of texts or that of embeddings, one of them.", "--text or --embedding.")
    return str(text or embedding)


def _open(
    engine: Engine, source: Any, column: str, texts: Any, on: str | Mapping[str, str] | None, *, features: int
) -> _Log:
    opened = open_every_column(engine, source)
    names, where = opened.names, describe(source)
    numbers = tuple(f"{column}_{i}" for i in range(1, features + 1))
    taken = {name.casefold() for name in names}
    for name in (GROUP, *numbers):
        if name.casefold() in taken:
            raise DataError(f"{where} has a column {quoted(name)} of its own.", "Rename it before you group.")
    given = {f"column_{i}": opened.table[i] for i in range(len(names))}
    if texts is None:
        if column not in names:
            raise no_such_column(column, names, where=where)
        own = names.index(column)
        return _Log(opened.table.select(**given, **{VALUE: opened.table[own]}), names, own, numbers)
    ours, theirs = next(iter(on.items())) if isinstance(on, Mapping) else (str(on), str(on))
    other = open_every_column(engine, texts)
    for name, there, place in (
        (ours, names, where),
        *((name, other.names, describe(texts)) for name in (theirs, column)),
    ):
        if name not in there:
            raise no_such_column(name, there, where=place)
    said = other.table.select(
        **{"key": other.table[other.names.index(theirs)], VALUE: other.table[other.names.index(column)]}
    )
    # A key with several texts has the first of them, whatever their order.
    said = said.group_by("key").agg(**{VALUE: said[VALUE].min()})
    rows = opened.table.select(**given)
    joined = rows.left_join(said, rows[f"column_{names.index(ours)}"] == said["key"])
    return _Log(joined.select(*given, VALUE), names, None, numbers)


def _before(engine: Engine, log: _Log, time: str, until: Moment) -> _Log:
    """Return the events before a moment."""
    if time not in log.names:
        raise no_such_column(time, log.names, where="the log")
    column = log.table[f"column_{log.names.index(time)}"]
    moment = as_time(engine, column, time, "The log")[TIME]
    if not column.type().is_integer():
        if isinstance(until, int):
            raise UsageError(f"The integer {until} is no moment where times are not integers.", "Write 2026-10-21.")
        return replace(log, table=log.table.filter(moment < microseconds(until)))
    if not isinstance(until, int) and not (isinstance(until, str) and until.isdecimal()):
        raise UsageError(f"The times in {quoted(time)} are integers, and {quoted(str(until))} is none.")
    return replace(log, table=log.table.filter(moment < int(until)))


def _different(engine: Engine, log: _Log) -> tuple[pa.Array, Any, int]:
    """Return the different values in the order of their MD5, how many events each has, and how many events there are.

    A sample of the values, where there are very many.
    """
    value = log.table[VALUE]
    rows = log.table.filter(value.notnull()).group_by(VALUE).agg(events=lambda rows: rows.count())
    counted = engine.fetch(rows.agg(values=rows.count(), events=rows.events.sum().coalesce(0)))[0]
    total, events = int(counted["values"]), int(counted["events"])
    if not total:
        raise EmptyWindowError("There is no text or embedding to learn from.", "Is it the right column, and time?")
    rows = rows.mutate(digest=rows[VALUE].cast("string").hexdigest("md5"))
    if total > MOST_VALUES:
        rows = rows.filter(rows.digest < f"{int(MOST_VALUES / total * 16**DIGITS):0{DIGITS}x}")
    fetched = engine.fetch_arrow(rows.order_by("digest"))
    return fetched[VALUE].combine_chunks(), to_numpy(fetched["events"]).astype("float64"), events


def _grouped(
    engine: Engine, log: _Log, grouping: Grouping, sizes: Counter[str], *, keep_text: bool
) -> Iterator[pa.Table]:
    """Give the log's columns with the group and the features of each row, in batches; count the rows of each group."""
    wanted = [i for i in range(len(log.names)) if keep_text or i != log.own]
    for batch in engine.stream(log.table):
        whole = pa.Table.from_batches([batch])
        assigned = grouping.assign(whole[VALUE])
        sizes.update(assigned.to_pylist())
        named = whole.select([f"column_{i}" for i in wanted]).rename_columns([log.names[i] for i in wanted])
        named = named.append_column(GROUP, assigned)
        if log.features:
            places = grouping.features(whole[VALUE], len(log.features))
            for name, numbers in zip(log.features, places.T, strict=True):
                named = named.append_column(name, pa.array(numbers))
        yield named
