"""Features of contexts that are given as dicts or as columns of Python values, the same as of a table of Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from warmstart.core import ColumnError, UsageError, quoted
from warmstart.scoring.parts import (
    Part,
    category_part,
    counted_words,
    embedding_parts,
    hashed_rows,
    missing_part,
    number_part,
    time_parts,
    words_of,
)
from warmstart.scoring.rows import SparseRows
from warmstart.scoring.settings import FeatureSettings

Records = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any] | NDArray[Any]]
CONTEXTS = "Pass [{'page': 3}] for one context, [{'page': 3}, {'page': 4}] or {'page': [3, 4]} for two."
_EPOCH, _EPOCH_IN_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)  # noqa: DTZ001
_MICROSECOND = timedelta(microseconds=1)
_NUMBERS = frozenset({int, float, bool, type(None)})
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?)?", re.ASCII)
_ASCII_TOKEN = re.compile(r"[a-z0-9]+")
Floats = NDArray[np.float64]


def rows_of_records(records: Records, settings: FeatureSettings) -> SparseRows:
    """Return the hashed features of contexts: a list of dicts, or a dict of columns. None is a missing value."""
    columns, size = columns_of(records, settings.columns)
    parts = [words_of(part, name, settings) for name in settings.kinds for part in _parts(columns, name, settings)]
    return hashed_rows(parts, size, settings)[0]


def columns_of(records: Records, names: Iterable[str]) -> tuple[dict[str, list[Any]], int]:
    """Return these columns of contexts as lists, and how many contexts there are."""
    if isinstance(records, Mapping):
        for name, column in records.items():
            if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
                what = f"{quoted(name)} of a dict of columns must be a list of values, and is {quoted(column)}."
                raise UsageError(what, CONTEXTS)
        lengths = {len(column) for column in records.values()}
        if len(lengths) != 1:
            raise UsageError("The columns of contexts must be at least one, all of the same length.")
        for name in names:
            if name not in records:
                raise ColumnError(f"The contexts have no {quoted(name)}, which the model has learned from.")
        return {name: listed_values(records[name]) for name in names}, lengths.pop()
    if not hasattr(records, "__len__") or not all(isinstance(record, Mapping) for record in records):
        raise UsageError("Contexts must be a list of dicts, or a dict of columns.", CONTEXTS)
    columns = {}
    for name in names:
        try:
            columns[name] = [record[name] for record in records]
        except KeyError:
            first = next(i for i, record in enumerate(records) if name not in record)
            what = f"Context {first} has no {quoted(name)}, which the model has learned from."
            raise ColumnError(what, "Give None for a value that is missing.") from None
    return columns, len(records)


def listed_values(column: Any) -> list[Any]:
    """Return a column as a list of Python values."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufU":
        values: list[Any] = column.tolist()
        return values
    return list(column)


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case: letters and digits, as Unicode has them.

    >>> tokens("Big big SALE: 50% off!"), tokens("Ümlaut-É")
    (['big', 'big', 'sale', '50', 'off'], ['ümlaut', 'é'])
    """
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    return text.translate(_FOLDED).split(" ")


class _Folded(dict[int, str]):
    """What stands for a character: in lower case, one by one, and a blank for what is neither letter nor digit."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        lower = character.lower()
        # One letter for one, as Arrow has it: the only one that is two is a dotted capital I.
        folded = lower if len(lower) == 1 else lower[0]
        self[code] = folded if category(folded)[0] in "LN" else " "
        return self[code]


_FOLDED = _Folded()


def _parts(columns: Mapping[str, list[Any]], name: str, settings: FeatureSettings) -> Iterator[Part]:
    values, kind = columns[name], settings.kinds[name]
    if name in settings.missing:
        yield missing_part(np.array([is_absent(value) for value in values], dtype=bool), name)
    if kind == "words":
        yield _words(values, None, name)
    elif kind == "weighted words":
        yield _words(values, columns[settings.weights[name]], name)
    elif kind == "ids":
        yield _ids(values, name)
    elif kind == "text":
        yield _texts(values, name)
    elif kind == "category":
        rows = [row for row, value in enumerate(values) if value is not None]
        codes, distinct = _encoded([str(values[row]) for row in rows])
        yield category_part(np.array(rows, dtype=np.int64), codes, distinct, name)
    elif kind == "embedding":
        scales = settings.dimensions(name)
        yield from embedding_parts(*vectors_of_lists(values, name, len(scales)), name, scales)
    elif kind == "number":
        yield number_part(_numbers(values, name), name, settings.scales[name])
    else:
        yield from time_parts(_times(values, name), name, settings.scales[name], clock=kind == "timestamp")


def _words(values: list[Any], weights: list[Any] | None, name: str) -> Part:
    flat, rows = _flat(values, name)
    if not all(word is None or isinstance(word, str) for word in set(flat)):
        raise ColumnError(f"The words of {quoted(name)} must be text.")
    amounts = np.ones(len(flat))
    if weights is not None:
        given = [weight for weight, listed in zip(weights, values, strict=True) if listed is not None]
        amounts = _numbers(_flat(given, f"the weights of {name}")[0], name)
        lengths = zip(_lengths(weights), _lengths(values), values, strict=True)
        if any(a != b and listed is not None for a, b, listed in lengths):
            raise ColumnError(f"Every word of {quoted(name)} must have a weight.")
    codes, distinct = _encoded([word or "" for word in flat])
    return counted_words(rows, codes.astype(np.float64), amounts, distinct)


def _ids(values: list[Any], name: str) -> Part:
    flat, rows = _flat(values, name)
    if not all(value is None or isinstance(value, int | np.integer) for value in set(flat)):
        raise ColumnError(f"The ids of {quoted(name)} must be whole numbers.")
    codes, distinct = _encoded(["" if value is None else f"{name}={int(value)}" for value in flat])
    return counted_words(rows, codes.astype(np.float64), np.ones(len(flat)), distinct)


def _texts(values: list[Any], name: str) -> Part:
    if not all(value is None or isinstance(value, str) for value in values):
        raise ColumnError(f"{quoted(name)} must be text.")
    lists = [() if value is None else tokens(value) for value in values]
    rows = np.repeat(np.arange(len(lists)), [len(listed) for listed in lists])
    codes, distinct = _encoded([token for listed in lists for token in listed])
    return counted_words(rows, codes.astype(np.float64), np.ones(len(rows)), distinct)


def _flat(values: list[Any], name: str) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of lists one after another, and the row of each."""
    if any(isinstance(value, str | bytes | Mapping) for value in values):
        raise ColumnError(f"{quoted(name)} must be lists.")
    try:
        flat = [one for listed in values if listed is not None for one in listed]
        return flat, np.repeat(np.arange(len(values)), _lengths(values))
    except TypeError as error:
        raise ColumnError(f"{quoted(name)} must be lists.") from error


def _lengths(values: list[Any]) -> list[int]:
    return [0 if listed is None else len(listed) for listed in values]


def _encoded(values: list[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of every value, and the different ones in the order in which they come."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    return codes, list(numbers)


def vectors_of_lists(values: list[Any], name: str, dimensions: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows that have a list, and the lists as a matrix."""
    flat, _ = _flat(values, name)
    lengths = _lengths(values)
    rows = np.array([row for row, listed in enumerate(values) if listed is not None], dtype=np.int64)
    wrong = next((row for row in rows.tolist() if lengths[row] != dimensions), None)
    if wrong is not None:
        raise ColumnError(f"{quoted(name)} of context {wrong} has {lengths[wrong]:,} numbers, not {dimensions:,}.")
    return rows, _numbers(flat, name).reshape(len(rows), dimensions)


def _times(values: list[Any], name: str) -> Floats:
    return np.array([_seconds(value, name, row) for row, value in enumerate(values)], dtype=np.float64)


def numbers_or_times(values: list[Any], name: str, *, times: bool) -> Floats:
    """Return numbers, or times in seconds, as floats; NaN where there is none."""
    return _times(values, name) if times else _numbers(values, name)


def _numbers(values: list[Any], name: str) -> Floats:
    if not _NUMBERS.issuperset(map(type, values)):
        values = [_number(value, name, row) for row, value in enumerate(values)]
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except OverflowError as error:
        raise ColumnError(f"{quoted(name)} has a number that is too large.") from error


def _number(value: Any, name: str, row: int) -> float | None:
    if isinstance(value, timedelta):
        return value // _MICROSECOND / 1e6
    if isinstance(value, date | np.datetime64):
        return _seconds(value, name, row)
    if value is None or isinstance(value, int | float | Decimal | np.number | np.bool_):
        return None if value is None else float(value)
    raise ColumnError(f"{quoted(name)} of context {row} must be a number, and is {quoted(str(value))}.")


def _seconds(value: Any, name: str, row: int) -> float:
    """Return a time in seconds since 1970, in UTC if it has a zone."""
    if value is None:
        return np.nan
    if isinstance(value, np.datetime64):
        return np.nan if np.isnat(value) else int(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(value, str) and _TIME.fullmatch(value):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = str(value)
    if isinstance(value, datetime):
        return (value - (_EPOCH if value.tzinfo is None else _EPOCH_IN_UTC)) // _MICROSECOND / 1e6
    if isinstance(value, date):
        return (value - _EPOCH.date()).days * 86_400.0
    raise ColumnError(f"{quoted(name)} of context {row} must be a time, and is {quoted(str(value))}.")


def is_absent(value: Any) -> bool:
    """Tell whether a value is None, NaN or no time."""
    return value is None or (isinstance(value, float | np.floating | np.datetime64) and value != value)  # noqa: PLR0124
