"""Columns of CSV and JSON files: names as written, and types that hold for all files of a log."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from warmstart.core import SourceError, counted, first_lines, printable, quoted, shortened
from warmstart.engine.engine import FileKind
from warmstart.engine.files import different_schemas

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT")
_NUMBERS = (*_INTEGERS, "FLOAT", "DOUBLE")
# DuckDB's type of a JSON column without a single value.
_NO_VALUE = "JSON"
# Levels of JSON, and how much of a file is looked at.
DEEPEST, CHECKED = 1_000, 8 << 20
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
OPENING, CLOSING = (np.frombuffer(text, np.uint8) for text in (b"[{", b"]}"))


def text_columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], kind: FileKind) -> dict[str, str]:
    """Return the columns of CSV or JSON files with types that hold for all; refuse files of different schemas."""
    read = _csv_columns if kind == "csv" else _json_columns
    columns = read(connection, paths[0])
    for path in paths[1:]:
        others = read(connection, path)
        common = {name: _common(own, others.get(name, own)) for name, own in columns.items()}
        differing = [name for name, own in common.items() if own is None]
        unlike = kind == "csv" and list(others) != list(columns)
        if unlike:
            differing = [name for name in columns | others if name not in columns or name not in others]
        if unlike or differing:
            one, other = ({name: own.lower() for name, own in types.items()} for types in (columns, others))
            raise different_schemas((paths[0], path), (one, other), differing)
        columns = columns | others | {name: own for name, own in common.items() if own is not None}
    return columns


def csv_dialect(connection: duckdb.DuckDBPyConnection, path: str) -> tuple[str, str, str]:
    """Return the delimiter, the quote and the escape character of a CSV file."""
    return _dialect(_rows(connection, f"FROM sniff_csv({literal(path)})")[0])


def decimal_separator(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    """Return the decimal separator of a CSV file: a comma where it makes more of its columns numbers, else a point."""
    return "," if _sniffed(connection, path)[1] else "."


def _sniffed(connection: duckdb.DuckDBPyConnection, path: str) -> tuple[dict[str, Any], bool]:
    """Return what DuckDB tells of a CSV file, and whether its numbers have decimal commas."""
    sniffed: dict[str, Any] = _rows(connection, f"FROM sniff_csv({literal(path)})")[0]
    if sniffed["Delimiter"] == "," or all(column["type"] != "VARCHAR" for column in sniffed["Columns"]):
        return sniffed, False
    query = f"FROM sniff_csv({literal(path)}, delim = {literal(sniffed['Delimiter'])}, decimal_separator = ',')"
    european = _rows(connection, query)[0]
    more = _numbers(european) > _numbers(sniffed)
    return (european, True) if more else (sniffed, False)


def _numbers(sniffed: dict[str, Any]) -> int:
    return sum(column["type"] in _NUMBERS for column in sniffed["Columns"])


def _dialect(sniffed: dict[str, Any]) -> tuple[str, str, str]:
    delimiter, quote, escape = (sniffed[name].replace("(empty)", "") for name in ("Delimiter", "Quote", "Escape"))
    return delimiter, quote, escape


def _csv_columns(connection: duckdb.DuckDBPyConnection, path: str) -> dict[str, str]:
    """Return names as the header line has them, with types; DuckDB renames columns that differ in case only."""
    sniffed, _ = _sniffed(connection, path)
    types = [column["type"] for column in sniffed["Columns"]]
    names = [column["name"] for column in sniffed["Columns"]]
    # Where no delimiter fits all lines, DuckDB takes whole lines for values.
    if len(names) == 1 and (ragged := _ragged(path)):
        raise ragged
    dialect = zip(("delim", "quote", "escape"), _dialect(sniffed), strict=True)
    options = [f"{name} = {literal(value)}" for name, value in dialect]
    options += ["header = false", "all_varchar = true", "null_padding = true", f"skip = {sniffed['SkipRows'] or 0}"]
    # One row is read, by one thread: several cannot pad rows where quoted values hold line breaks, as prompts do.
    options.append("parallel = false")
    header = _rows(connection, f"FROM read_csv({literal(path)}, {', '.join(options)}) LIMIT 1")
    if header and not sniffed["HasHeader"]:
        raise _ragged(path) or _no_header(path, [value or "" for value in header[0].values()])
    if header and len(header[0]) == len(names):
        names = [written or name for written, name in zip(header[0].values(), names, strict=True)]
    return _paired(path, names, types)


def _no_header(path: str, first: Sequence[str]) -> SourceError:
    return SourceError(
        f"{printable(path)} seems to have no header: its first line is like the others ({shortened(','.join(first))}).",
        "Columns are known by their names: put a line with them at the top of the file.",
    )


def unreadable(path: str, error: Exception) -> SourceError:
    """Return what is wrong with a CSV or JSON file that DuckDB cannot read, with what to do about it."""
    said = first_lines(error, 3)
    if "not utf-8 encoded" in said:
        return SourceError(
            f"{printable(path)} is not written in UTF-8.",
            "Write it anew, in a shell: iconv -f windows-1252 -t utf-8 OLD.csv > NEW.csv (or -f utf-16); in a "
            "spreadsheet as 'CSV UTF-8'.",
        )
    odd = _ragged(path) if "sniffing file" in said else None
    return odd or SourceError(f"Cannot read {printable(path)}: {said}")


def _ragged(path: str) -> SourceError | None:
    """Return the error of a CSV file in which a line has another number of values than the header, None if none has."""
    if (odd := _odd_line(path)) is None:
        return None
    line, fields, first = odd
    return SourceError(
        f"Cannot read {printable(path)}: line {line:,} has {counted(fields, 'value')}, the header {first:,}.",
        "Every line needs a value for every column: mend the lines that have more or fewer.",
    )


def _odd_line(path: str) -> tuple[int, int, int] | None:
    """Return the first line of a CSV file with another number of values than its header, and both numbers."""
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file, suppress(OSError, EOFError):
        text = file.read(CHECKED).decode("utf-8-sig", errors="replace")
    header = text.partition("\n")[0]
    delimiter = max(",;\t|", key=header.count)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    with suppress(csv.Error):
        first = len(next(rows))
        return next(((rows.line_num, len(row), first) for row in rows if row and len(row) != first), None)
    return None


def _json_columns(connection: duckdb.DuckDBPyConnection, path: str) -> dict[str, str]:
    _check_depth(path)
    described = _rows(connection, f"DESCRIBE FROM read_json({literal(path)})")
    names, types = [row["column_name"] for row in described], [row["column_type"] for row in described]
    rows = _rows(connection, f"FROM read_json_objects({literal(path)}) SELECT json_keys(json) AS keys LIMIT 1000")
    written = list(dict.fromkeys(key for row in rows for key in row["keys"] or ()))
    renamed = len(written) == len(names) and len({name.lower() for name in written}) < len(written)
    return _paired(path, written if renamed else names, types)


def _check_depth(path: str) -> None:
    """Refuse a line of JSON nested so deeply that DuckDB would overflow its stack; the beginning of a file is read."""
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file, suppress(OSError, EOFError):
        for line in file.read(CHECKED).split(b"\n"):
            if line.count(b"[") + line.count(b"{") > DEEPEST:
                plain = np.frombuffer(STRING.sub(b"", line), np.uint8)
                steps = np.isin(plain, OPENING).astype(np.int64) - np.isin(plain, CLOSING)
                if np.cumsum(steps).max(initial=0) > DEEPEST:
                    raise nested_too_deeply(path)


def nested_too_deeply(path: str) -> SourceError:
    """Return the error of a JSON file with too many levels."""
    return SourceError(f"{printable(path)} is nested too deeply.", "Write a flat JSON object a line.")


def _paired(path: str, names: Sequence[str], types: Sequence[str]) -> dict[str, str]:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SourceError(f"{printable(path)} has {names.count(twice)} columns called {quoted(twice)}.")
    return dict(zip(names, types, strict=True))


def _common(one: str, other: str) -> str | None:
    """Return a type that holds the values of both types, None if there is no plain one."""
    if other in (one, _NO_VALUE):
        return one
    if one == _NO_VALUE:
        return other
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    return "DOUBLE" if one in _NUMBERS and other in _NUMBERS else None


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    # Literals, not parameters: DuckDB imports pandas to look at parameters.
    result = connection.execute(query)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def literal(value: str) -> str:
    """Return text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
