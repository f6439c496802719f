"""Columns of CSV and JSON files: names as written, and types that hold for all files of a log."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis.expr.types as ir
import numpy as np

from warmstart.core import SourceError, counted, excerpt, first_lines, printable, quoted
from warmstart.engine.engine import FileKind
from warmstart.engine.files import different_schemas

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT")
_NUMBERS = (*_INTEGERS, "FLOAT", "DOUBLE")
# DuckDB's type of a JSON column without a single value.
_NO_VALUE = "JSON"
# Words of CSV files that stand for null, as pandas takes them, where they alone keep a column from being numbers.
NULL_WORDS = ("NULL", "Null", "null", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "None", "\\N")
_PLAIN_TYPES = {"BOOLEAN": "boolean", "BIGINT": "int64", "DOUBLE": "float64"}
# Rows that DuckDB looks at to tell types.
SAMPLE = 20_480
# Levels of JSON, and how much of a file is looked at.
DEEPEST, CHECKED = 1_000, 8 << 20
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
OPENING, CLOSING = (np.frombuffer(text, np.uint8) for text in (b"[{", b"]}"))


@dataclass(frozen=True)
class TextForm:
    """How text files are written.

    ``types``: DuckDB's types by the names in the header. ``worded``: columns that are numbers, truths or times but for
    words that stand for null. ``unclear``: columns of dates that could be days or months first, which stay text.
    ``decimal_comma``, ``dialect`` (delimiter, quote, escape) and ``clocks`` (the formats of dates and of timestamps, as
    strptime has them, where they are not ISO 8601): of the first file.
    """

    types: Mapping[str, str]
    worded: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()
    decimal_comma: bool = False
    dialect: tuple[str, str, str] = (",", '"', '"')
    clocks: tuple[str, str] = ("", "")

    @property
    def read_types(self) -> dict[str, str]:
        """Return the types to read columns with."""
        as_text = self.worded | self.unclear
        return {name: "VARCHAR" if name in as_text else own for name, own in self.types.items()}

    def finished(self, table: ir.Table) -> ir.Table:
        """Return a table, read with the types above, in which words that stand for null are null."""
        names = dict(zip(self.types, table.columns, strict=False))
        kinds = {names[name]: _PLAIN_TYPES.get(self.types[name]) for name in self.types if name in self.worded}
        return numbers_of_text(table, kinds, decimal_comma=self.decimal_comma)


def numbers_of_text(table: ir.Table, kinds: Mapping[str, str | None], *, decimal_comma: bool) -> ir.Table:
    """Return a table whose columns of text have types, or stay text where there is none; words for null are null."""
    columns: dict[str, ir.Value] = {}
    for name, kind in kinds.items():
        text = table[name].isin(NULL_WORDS).ifelse(None, table[name])
        text = text.replace(",", ".") if decimal_comma and kind == "float64" else text
        columns[name] = text if kind is None else text.cast(kind)
    return table.mutate(**columns) if columns else table


def text_form(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], kind: FileKind) -> TextForm:
    """Return how CSV or JSON files are written, with types that hold for all; refuse files of different schemas."""
    read = _csv_form if kind == "csv" else _json_form
    first = read(connection, paths[0])
    columns, worded, unclear = dict(first.types), first.worded, first.unclear
    for path in paths[1:]:
        form = read(connection, path)
        others, worded, unclear = dict(form.types), worded | form.worded, unclear | form.unclear
        common = {name: _common(own, others.get(name, own)) for name, own in columns.items()}
        differing = [name for name, own in common.items() if own is None]
        unlike = kind == "csv" and list(others) != list(columns)
        if unlike:
            differing = [name for name in columns | others if name not in columns or name not in others]
        if unlike or differing:
            one, other = ({name: own.lower() for name, own in types.items()} for types in (columns, others))
            raise different_schemas((paths[0], path), (one, other), differing)
        columns = columns | others | {name: own for name, own in common.items() if own is not None}
    return TextForm(columns, worded, unclear, first.decimal_comma, first.dialect, first.clocks)


def has_decimal_commas(path: str) -> bool:
    """Tell whether a CSV file has decimal commas: where they make more of its columns numbers."""
    return _csv_form(duckdb.connect(), path).decimal_comma


def _csv_form(connection: duckdb.DuckDBPyConnection, path: str) -> TextForm:
    """Return how a CSV file is written."""
    sniffed, comma = _sniffed(connection, path), False
    delimiter, has_header, found = sniffed["Delimiter"], sniffed["HasHeader"], sniffed
    # Where no delimiter fits all lines, DuckDB takes whole lines for values.
    if len(sniffed["Columns"]) == 1 and (ragged := _ragged(path)):
        raise ragged
    worded = set[int]()
    if "VARCHAR" in _types(sniffed):
        words = {"delim": delimiter, "nullstr": ["", *NULL_WORDS]}
        lenient = _sniffed(connection, path, **words)
        if delimiter != ",":
            european = _sniffed(connection, path, **words, decimal_separator=",")
            comma = len(_types(european)) == len(_types(sniffed)) and _numbers(european) > _numbers(lenient)
        if comma:
            lenient, found = european, _sniffed(connection, path, delim=delimiter, decimal_separator=",")
        pairs = enumerate(zip(_types(found), _types(lenient), strict=False))
        alike = len(_types(sniffed)) == len(_types(found)) == len(_types(lenient))
        worded = {i for i, (own, other) in pairs if alike and own == "VARCHAR" != other}
        has_header = has_header or lenient["HasHeader"]
    types = [_types(lenient)[i] if i in worded else own for i, own in enumerate(_types(found))]
    names = _header(connection, path, sniffed, has_header=has_header)
    unclear = _unclear_dates(connection, path, lenient if worded else found)
    return TextForm(
        _paired(path, names, types),
        frozenset(names[i] for i in worded),
        frozenset(names[i] for i in unclear),
        comma,
        _dialect(sniffed),
        (found["DateFormat"] or "", found["TimestampFormat"] or ""),
    )


def _sniffed(connection: duckdb.DuckDBPyConnection, path: str, **options: str | int | list[str]) -> dict[str, Any]:
    """Return what DuckDB tells of a CSV file, read with options."""
    written = {
        name: str(value) if isinstance(value, int) else
        literal(value) if isinstance(value, str) else f"[{', '.join(map(literal, value))}]"
        for name, value in options.items()
    }  # fmt: skip
    listed = "".join(f", {name} = {value}" for name, value in written.items())
    return _rows(connection, f"FROM sniff_csv({literal(path)}{listed})")[0]


def _types(sniffed: dict[str, Any]) -> list[str]:
    return [column["type"] for column in sniffed["Columns"]]


def _numbers(sniffed: dict[str, Any]) -> int:
    return sum(kind in _NUMBERS for kind in _types(sniffed))


def _dialect(sniffed: dict[str, Any]) -> tuple[str, str, str]:
    delimiter, quote, escape = (sniffed[name].replace("(empty)", "") for name in ("Delimiter", "Quote", "Escape"))
    return delimiter, quote, escape


def _unclear_dates(connection: duckdb.DuckDBPyConnection, path: str, sniffed: dict[str, Any]) -> set[int]:
    """Return the columns of dates that DuckDB reads in one of several orders: years of two digits, days or months."""
    unclear = set[int]()
    for kind, option in (("DATE", "DateFormat"), ("TIMESTAMP", "TimestampFormat")):
        own = sniffed[option] or ""
        places = {i for i, name in enumerate(_types(sniffed)) if name == kind}
        if "%y" in own:
            unclear |= places
        elif places and re.match("%[dm][/-]", own):
            other = own.replace("%d", "%?").replace("%m", "%d").replace("%?", "%m")

            def fit(form: str, rows: int, kind: str = kind, option: str = option.lower()) -> set[int]:
                options: dict[str, Any] = {"delim": sniffed["Delimiter"], option: form, "sample_size": rows}
                return {i for i, name in enumerate(_types(_sniffed(connection, path, **options))) if name == kind}

            # A day after the twelfth may come late in the file.
            if places & fit(other, SAMPLE):
                unclear |= places & (fit(other, -1) | (places - fit(own, -1)))
    return unclear


def _header(
    connection: duckdb.DuckDBPyConnection, path: str, sniffed: dict[str, Any], *, has_header: bool
) -> list[str]:
    """Return the names in a CSV file's header; DuckDB renames columns that differ in case only."""
    names = [column["name"] for column in sniffed["Columns"]]
    dialect = zip(("delim", "quote", "escape"), _dialect(sniffed), strict=True)
    options = [f"{name} = {literal(value)}" for name, value in dialect]
    options += ["header = false", "all_varchar = true", "null_padding = true", f"skip = {sniffed['SkipRows'] or 0}"]
    # One row is read, by one thread: several cannot pad rows where quoted values hold line breaks, as prompts do.
    options.append("parallel = false")
    header = _rows(connection, f"FROM read_csv({literal(path)}, {', '.join(options)}) LIMIT 1")
    if header and not has_header:
        raise _ragged(path) or _no_header(path, [value or "" for value in header[0].values()])
    if header and len(header[0]) == len(names):
        names = [written or name for written, name in zip(header[0].values(), names, strict=True)]
    return names


def _no_header(path: str, first: Sequence[str]) -> SourceError:
    return SourceError(
        f"{printable(path)} seems to have no header: its first line is like the others ({excerpt(','.join(first))}).",
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


def _json_form(connection: duckdb.DuckDBPyConnection, path: str) -> TextForm:
    _check_depth(path)
    described = _rows(connection, f"DESCRIBE FROM read_json({literal(path)})")
    names, types = [row["column_name"] for row in described], [row["column_type"] for row in described]
    rows = _rows(connection, f"FROM read_json_objects({literal(path)}) SELECT json_keys(json) AS keys LIMIT 1000")
    written = list(dict.fromkeys(key for row in rows for key in row["keys"] or ()))
    renamed = len(written) == len(names) and len({name.lower() for name in written}) < len(written)
    return TextForm(_paired(path, written if renamed else names, types))


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
