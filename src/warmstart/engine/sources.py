"""Open sources (files, globs, data frames, Ibis tables, database tables) with columns under fixed names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import ibis.expr.types as ir

from warmstart.core import ColumnError, SourceError, UsageError, no_such_column, printable, quoted
from warmstart.engine import text_files
from warmstart.engine.connect import resolve_engine
from warmstart.engine.databases import check_url, has_scheme, is_storage, is_url, without_credentials
from warmstart.engine.engine import Engine, SourceTable, StoredTable
from warmstart.engine.files import expand, kind_of, one_kind

if TYPE_CHECKING:
    import pyarrow as pa

DATABASE_SUFFIXES = (".duckdb", ".ddb", ".db")
FRAME_LIBRARIES = ("pandas", "polars", "pyarrow", "_duckdb", "duckdb")


def open_source(
    engine: Engine,
    source: Any,
    columns: Mapping[str, str],
    *,
    optional: Sequence[str] = (),
    as_text: bool = False,
    may_travel: bool = False,
    where: str | None = None,
) -> ir.Table:
    """Return a source as a table of the engine, with only the given columns, renamed.

    Args:
        engine: Where the table is opened.
        source: Files, a data frame, an Ibis table or a table of a database.
        columns: Fixed names to the names in the source.
        optional: Fixed names of columns that may be absent.
        as_text: Keep the values of CSV files as they are written.
        may_travel: Copy an Ibis table out of its database; not for a log.
        where: What messages call the source, if not by its own name.
    """
    where = where or describe(source)
    if _library(source) in FRAME_LIBRARIES:
        chosen = _present(columns, frame_names(source), where, optional)
        return engine.open_arrow(frame_to_arrow(source, chosen, where))
    opened = _open_in_engine(engine, source, as_text=as_text, may_travel=may_travel)
    chosen = _present(columns, opened.names, where, optional)
    position = {name: i for i, name in reversed(list(enumerate(opened.names)))}
    return opened.table.select(**{fixed: opened.table[position[given]] for fixed, given in chosen.items()})


def open_whole(engine: Engine, source: Any) -> pa.Table:
    """Return a source as an Arrow table with all its columns, under their own names; categories stay categories."""
    if _library(source) in FRAME_LIBRARIES:
        return _whole_frame(source, categories=True)
    if isinstance(source, ir.Table) and not engine.holds(source):
        return _from_database(source, may_travel=True)
    opened = open_every_column(engine, source)
    return engine.fetch_arrow(opened.table).rename_columns(list(opened.names))


def _whole_frame(source: Any, *, categories: bool) -> pa.Table:
    names = frame_names(source)
    chosen = _present(dict(zip(names, names, strict=True)), names, describe(source), ())
    return frame_to_arrow(source, chosen, describe(source), categories=categories)


def open_every_column(engine: Engine, source: Any) -> SourceTable:
    """Return a source as a table of the engine, with all its columns."""
    if _library(source) in FRAME_LIBRARIES:
        frame = _whole_frame(source, categories=False)
        return SourceTable(engine.open_arrow(frame), tuple(frame.column_names))
    return _open_in_engine(engine, source, as_text=False, may_travel=True)


def open_some_columns(engine: Engine, source: Any, is_wanted: Callable[[str], bool]) -> SourceTable | None:
    """Return those columns of a log's source whose names are wanted; None if there are none, or they would cost much.

    Not what is read but once, what is a query of its own, nor JSON on Spark, whose types take a pass over all of it.

    Args:
        engine: The engine of the log.
        source: Where the log was read from.
        is_wanted: Whether a name is wanted.
    """
    if _library(source) in FRAME_LIBRARIES:
        once = hasattr(source, "read_all") or hasattr(source, "collect") or "duckdb" in _library(source)
        names = [] if once else [name for name in frame_names(source) if is_wanted(name)]
        columns = {f"column_{i}": name for i, name in enumerate(names)}
        return SourceTable(open_source(engine, source, columns), tuple(names)) if names else None
    elsewhere = isinstance(source, ir.Table) and not engine.holds(source)
    if elsewhere or (engine.name == "spark" and _is_json(source)):
        return None
    opened = open_every_column(engine, source)
    places = [place for place, name in enumerate(opened.names) if is_wanted(name)]
    columns = {f"column_{i}": opened.table[place] for i, place in enumerate(places)}
    names = [opened.names[place] for place in places]
    return SourceTable(opened.table.select(**columns), tuple(names)) if names else None


def _open_in_engine(engine: Engine, source: Any, *, as_text: bool, may_travel: bool) -> SourceTable:
    if _library(source) == "pyspark":
        if not hasattr(engine, "open_frame"):
            raise SourceError(
                "A Spark DataFrame can be used with a log on Spark only.", "Read the log with engine='spark'."
            )
        return SourceTable(engine.open_frame(source), tuple(source.columns))
    if isinstance(source, ir.Table):
        if not engine.holds(source):
            source = engine.open_arrow(_from_database(source, may_travel=may_travel))
        return SourceTable(source, tuple(source.columns))
    if isinstance(source, StoredTable):
        return engine.open_table(source)
    return _open_files(engine, source, as_text=as_text)


def describe(source: Any) -> str:
    """Return the name of a source for messages, without credentials."""
    if isinstance(source, str | Path):
        return without_credentials(str(source)) if has_scheme(source) else printable(source)
    if isinstance(source, StoredTable):
        where = source.path if source.url is None else without_credentials(source.url)
        return ", table ".join(printable(part) for part in (where, source.name) if part is not None)
    if isinstance(source, Sequence) and source:
        return f"{describe(source[0])} and {len(source) - 1} more" if len(source) > 1 else describe(source[0])
    return f"the {_library(source)} table"


def stored_table(source: Any, table: str | None) -> Any:
    """Return the address of a database table for a path or URL and a table name; other sources are returned as is."""
    parts = source if isinstance(source, list | tuple) else [source]
    single = parts[0] if len(parts) == 1 else source
    for part in parts:
        if has_scheme(part):
            check_url(str(part))
    if is_url(single):
        if table is None:
            raise UsageError("A database has many tables.", "Say which with table=... (--table NAME).")
        return StoredTable(table, url=single)
    if isinstance(single, str | Path) and str(single).lower().endswith(DATABASE_SUFFIXES):
        expand(str(single))
        return StoredTable(table, str(single))
    if table is None:
        return source
    if source is None or source == []:
        return StoredTable(table)
    raise UsageError(
        f"A table is named ({quoted(table)}), but {describe(source)} is no database.",
        f"A DuckDB file ends in {', '.join(DATABASE_SUFFIXES)}; other databases have a URL.",
    )


def _from_database(table: ir.Table, *, may_travel: bool) -> pa.Table:
    engine, _ = resolve_engine(table, "duckdb")
    if not (may_travel and engine.remote):
        raise SourceError(
            "An Ibis table of another connection cannot be used with this log.", "Open both in one connection."
        )
    return engine.fetch_arrow(table)


def is_csv(source: Any) -> bool:
    """Return whether a source is CSV files, whose values have no types of their own."""
    parts = source if isinstance(source, list | tuple) else [source]
    return all(isinstance(part, str | Path) and kind_of(expand(str(part))[0]) == "csv" for part in parts)


def has_decimal_commas(source: Any) -> bool:
    """Tell whether CSV files are written with decimal commas, by the first of them."""
    first = source[0] if isinstance(source, list | tuple) else source
    return text_files.has_decimal_commas(expand(str(first))[0])


def _is_json(source: Any) -> bool:
    parts = source if isinstance(source, list | tuple) else [source]
    paths = [str(part) for part in parts if isinstance(part, str | Path) and not is_storage(part)]
    return bool(paths) and kind_of(expand(paths[0])[0]) == "json"


def frame_names(frame: Any) -> list[str]:
    """Return the column names of a data frame of any library."""
    if hasattr(frame, "collect_schema"):
        names = frame.collect_schema().names()
    elif hasattr(frame, "schema") and _library(frame) == "pyarrow":
        names = frame.schema.names
    elif hasattr(frame, "columns"):
        names = frame.columns
    else:
        raise UsageError(f"A {type(frame).__name__} is not a table.", "Pass a frame with named columns.")
    return [str(name) for name in names]


def _library(source: Any) -> str:
    return type(source).__module__.split(".", maxsplit=1)[0]


def _present(columns: Mapping[str, str], names: Sequence[str], where: str, optional: Sequence[str]) -> dict[str, str]:
    """Return those of the columns that a source has; refuse missing, ambiguous and unusable names."""
    for fixed, given in columns.items():
        if given not in names and fixed not in optional:
            raise no_such_column(given, names, where=where)
        if "\0" in given:
            raise ColumnError(
                f"{where}: a column's name holds a NUL character ({quoted(given)}).",
                "Rename it: engines cut it off there.",
            )
        if names.count(given) > 1:
            raise ColumnError(f"{where} has {names.count(given)} columns called {quoted(given)}.")
    return {fixed: given for fixed, given in columns.items() if given in names}


def frame_to_arrow(frame: Any, chosen: Mapping[str, str], where: str, *, categories: bool = False) -> pa.Table:
    """Return columns of a data frame of any library as an Arrow table.

    Args:
        frame: The data frame.
        chosen: From new names of columns to those in the frame.
        where: What messages call it.
        categories: Leave categories (dictionaries) as they are, which engines do not know.
    """
    import pyarrow as pa

    given = list(dict.fromkeys(chosen.values()))
    try:
        match _library(frame):
            case "pandas":
                by_text = {str(name): name for name in frame.columns}
                table = pa.Table.from_pandas(frame[[by_text[name] for name in given]], preserve_index=False)
            case "polars":
                table = frame.lazy().select(given).collect().to_arrow()
            case "pyarrow" if hasattr(frame, "to_table"):
                table = frame.to_table(columns=given)
            case "pyarrow":
                whole = frame.read_all() if hasattr(frame, "read_all") else frame
                table = (whole if isinstance(whole, pa.Table) else pa.table(whole)).select(given)
            case _:
                table = frame.select(*map(duckdb.ColumnExpression, given)).to_arrow_table()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(f"{where}: {printable(error)}", "A column must hold values of one type.") from error
    # A column may be asked for under two names: of the context, say, and another model's choice.
    table = table.select([given.index(name) for name in chosen.values()]).rename_columns(list(chosen))
    plain = table.cast(pa.schema([(field.name, _plain_type(field.type)) for field in table.schema]))
    for i, field in enumerate(table.schema if categories else ()):
        if pa.types.is_dictionary(field.type):
            plain = plain.set_column(i, field.name, plain[i].dictionary_encode())
    return plain


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type that every engine knows: values for categories, large strings for string views."""
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.large_string() if pa.types.is_string_view(value) else value


def _open_files(engine: Engine, source: Any, *, as_text: bool) -> SourceTable:
    if isinstance(source, str | Path):
        source = [source]
    if not isinstance(source, Sequence) or not all(isinstance(part, str | Path) for part in source):
        raise UsageError(
            f"Cannot read a log from {quoted(type(source).__name__)}.",
            "Pass a path, a folder, a glob, a list of paths, a pandas, polars or Arrow table, a DuckDB relation, "
            "a Spark DataFrame, an Ibis table or the URL of a database.",
        )
    if engine.name == "spark" and source and all(map(is_storage, source)):
        return engine.open_files(source, "parquet")
    paths = [path for part in source for path in expand(str(part))]
    if not paths:
        raise SourceError("No file was named.")
    return engine.open_files(paths, one_kind(paths), as_text=as_text)
