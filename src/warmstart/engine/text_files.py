"""CSV and JSON files: what their columns are called as written, and whether several files are one log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from warmstart.core.errors import SourceError
from warmstart.core.text import printable, quoted
from warmstart.engine.engine import FileKind

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT")
_NUMBERS = (*_INTEGERS, "FLOAT", "DOUBLE")
# A JSON column without a single value has this type.
_NO_VALUE = "JSON"
_KEYS_FROM_ROWS = 1_000


def text_columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], kind: FileKind) -> dict[str, str]:
    """Return the columns of CSV or JSON files, with types that hold for all; refuse files that differ."""
    read = _csv_columns if kind == "csv" else _json_columns
    columns = read(connection, paths[0])
    for path in paths[1:]:
        others = read(connection, path)
        if kind == "csv" and list(others) != list(columns):
            raise _different(paths[0], path, _by_name(columns, others) or "their columns are in another order")
        if clashes := {name for name in columns.keys() & others.keys() if _common(columns[name], others[name]) is None}:
            raise _different(paths[0], path, _by_name(columns, others, only=clashes))
        columns = {name: _common(own, others.get(name, own)) or own for name, own in columns.items()} | {
            name: type_ for name, type_ in others.items() if name not in columns
        }
    return columns


def csv_dialect(connection: duckdb.DuckDBPyConnection, path: str) -> tuple[str, str, str]:
    """Return how a CSV file is written: between values, around them, and before a quote inside them."""
    found = _rows(connection, f"FROM sniff_csv({_literal(path)})")[0]
    separator, quote, escape = (found[name] for name in ("Delimiter", "Quote", "Escape"))
    return separator, "" if quote == "(empty)" else quote, "" if escape == "(empty)" else escape


def _csv_columns(connection: duckdb.DuckDBPyConnection, path: str) -> dict[str, str]:
    """DuckDB tells apart names that differ in case by renaming one; the header line has them as written."""
    found = _rows(connection, f"FROM sniff_csv({_literal(path)})")[0]
    types = [column["type"] for column in found["Columns"]]
    names = [column["name"] for column in found["Columns"]]
    if found["HasHeader"]:
        dialect = {"delim": found["Delimiter"], "quote": found["Quote"], "escape": found["Escape"]}
        options = [f"{name} = {_literal('' if value == '(empty)' else value)}" for name, value in dialect.items()]
        options += ["header = false", "all_varchar = true", "null_padding = true", f"skip = {found['SkipRows'] or 0}"]
        header = _rows(connection, f"FROM read_csv({_literal(path)}, {', '.join(options)}) LIMIT 1")
        if header and len(header[0]) == len(names):
            names = [written or name for written, name in zip(header[0].values(), names, strict=True)]
    return _paired(path, names, types)


def _json_columns(connection: duckdb.DuckDBPyConnection, path: str) -> dict[str, str]:
    described = _rows(connection, f"DESCRIBE FROM read_json({_literal(path)})")
    names, types = [row["column_name"] for row in described], [row["column_type"] for row in described]
    rows = _rows(
        connection, f"FROM read_json_objects({_literal(path)}) SELECT json_keys(json) AS keys LIMIT {_KEYS_FROM_ROWS}"
    )
    written = list(dict.fromkeys(key for row in rows for key in row["keys"] or ()))
    renamed = len(written) == len(names) and len({name.lower() for name in written}) < len(written)
    return _paired(path, written if renamed else names, types)


def _paired(path: str, names: Sequence[str], types: Sequence[str]) -> dict[str, str]:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SourceError(f"{printable(path)} has {names.count(twice)} columns called {quoted(twice)}.")
    return dict(zip(names, types, strict=True))


def _common(one: str, other: str) -> str | None:
    """Return a type that holds the values of both, if there is a plain one."""
    if other in (one, _NO_VALUE):
        return one
    if one == _NO_VALUE:
        return other
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    return "DOUBLE" if one in _NUMBERS and other in _NUMBERS else None


def _different(one: str, other: str, how: str) -> SourceError:
    return SourceError(
        f"{printable(one)} and {printable(other)} have different schemas: {how}.",
        "Write them with one schema, or read them apart.",
    )


def _by_name(one: Mapping[str, str], other: Mapping[str, str], only: set[str] | None = None) -> str:
    names = [name for name in {**one, **other} if name in only] if only else list({**one, **other})
    return ", ".join(
        f"{quoted(name)} is {one.get(name, 'absent').lower()} and {other.get(name, 'absent').lower()}"
        for name in names
        if only or name not in one or name not in other
    )


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    # Literals, not parameters: DuckDB imports pandas to look at parameters.
    found = connection.execute(query)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
