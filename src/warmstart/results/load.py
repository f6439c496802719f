"""Read results back from their JSON; every field is checked against the type that its dataclass declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from math import inf, isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from warmstart.core import (
    LaterVersionError,
    SavedFileError,
    SourceError,
    UsageError,
    first_lines,
    microseconds,
    printable,
    quoted,
)
from warmstart.results.display import SCHEMA, Result, Unbounded
from warmstart.results.forms import Time, form_of, keys_of, kinds

Record = TypeVar("Record")
HINT = "Restore the file, or save the result again."
# What ``save`` also writes, and nobody reads back.
OTHER_ENDINGS = (".parquet", ".html", ".htm", ".toml")
JSON_HINT = "Save the result as .json too; the rows in a .parquet are for data frames, a page is to be looked at."
WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", Path: "a path"}
JSON_WORDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
JSON_WORDS |= {NoneType: "null"}
# What properties of a result raise whose fields do not belong together.
UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)


def load_result(path: str | Path) -> Result:
    """Read a result back from the JSON that ``save`` or ``--json`` wrote, as the type that it was.

    Every field is checked; what is wrong is an error that names the file and the field. Fields that this version does
    not know are ignored. What was ``selected`` is found again, and stands on the page of the result.

    >>> import tempfile, pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> result = ws.evaluate("uniform", events, tau=0.05)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ws.load_result(result.save(f"{folder}/result.json")) == result
    True
    """
    source = printable(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"Cannot read {source}: {error.strerror or first_lines(error)}.") from error
    except (ValueError, RecursionError) as error:
        if (ending := Path(path).suffix.lower()) in OTHER_ENDINGS:
            raise SavedFileError(
                f"{source} ends in {ending}: of saved results only .json is read back.", JSON_HINT
            ) from error
        what = "it is nested too deeply" if isinstance(error, RecursionError) else first_lines(error)
        raise SavedFileError(f"{source} is not JSON: {what}.", HINT) from error
    return _Reader(source).result(data)


def read_record(kind: type[Record], data: Mapping[str, Any], source: str) -> Record:
    """Return a dataclass from the dictionary that JSON has of it; errors name the source and the field."""
    record: Record = _Reader(source).record(kind, dict(data), "")
    return record


@dataclass(frozen=True)
class _Reader:
    """Turns JSON into dataclasses by their annotations; ``source`` is the file, for messages."""

    source: str

    def result(self, data: Any) -> Result:
        """Return the result that a JSON object tells of."""
        if not isinstance(data, dict):
            raise self.unfit("The file", data, "an object")
        for name, known in (("schema", [SCHEMA]), ("kind", list(kinds()))):
            if name not in data:
                raise SavedFileError(f"{self.source}: {name} is missing; this is no saved result.", HINT)
            if type(data[name]) is not type(known[0]) or data[name] not in known:
                wanted = ", ".join(map(str, known))
                later = name == "schema" and type(data[name]) is int and data[name] > SCHEMA
                raise (LaterVersionError if later else SavedFileError)(
                    f"{self.source}: {name} is {quoted(data[name])}, which this version cannot read.",
                    f"It reads {wanted}.",
                )
        self.check_finite(data)
        result: Result = self.record(kinds()[data["kind"]], data, "")
        try:
            result.to_dict(), str(result)
        except UNFIT as error:
            what = f"{type(error).__name__}, {first_lines(error)}"
            raise SavedFileError(f"{self.source}: its fields do not belong together ({what}).", HINT) from error
        return result

    def unfit(self, where: str, value: Any, wanted: str) -> SavedFileError:
        """Return the error for a value of another type than its field."""
        shown = JSON_WORDS.get(type(value), "a value")
        shown = f"{shown} ({quoted(value)})" if isinstance(value, str | int | float) else shown
        return SavedFileError(f"{self.source}: {where} is {shown}, not {wanted}.", HINT)

    def check_finite(self, value: Any, where: str = "") -> None:
        """Refuse NaN and infinities, which JSON does not have, and numbers too large to be one."""
        if isinstance(value, dict):
            for name, part in value.items():
                self.check_finite(part, _inside(where, name))
        elif isinstance(value, list):
            for place, part in enumerate(value):
                self.check_finite(part, f"{where}[{place}]")
        elif isinstance(value, int | float) and not _is_finite(value):
            raise SavedFileError(f"{self.source}: {where} is not a finite number.", HINT)

    def record(self, kind: Any, data: Any, where: str) -> Any:
        """Return a dataclass; a field that the file lacks has its default, if there is one."""
        if not isinstance(data, dict):
            raise self.unfit(where, data, "an object")
        values = {}
        for key in keys_of(kind):
            inside = _inside(where, key.name)
            if key.field is None:
                continue
            if key.name in data:
                values[key.field] = self.read(key.type, data[key.name], inside)
            elif key.needed:
                raise SavedFileError(f"{self.source}: {inside} is missing.", HINT)
        try:
            return kind(**{**values, **form_of(kind).finish(values, data)})
        except LookupError as error:
            raise SavedFileError(f"{self.source}: {where or 'the result'} is incomplete.", HINT) from error

    def read(self, kind: Any, value: Any, where: str) -> Any:  # noqa: PLR0911
        """Return a value of the type that an annotation declares."""
        origin, options = get_origin(kind), get_args(kind)
        if kind in (Any, object):
            return value
        if kind == Unbounded and value is None:
            return inf
        if origin is Annotated:
            return self.time(value, where) if kind == Time else self.read(options[0], value, where)
        if origin in (Union, UnionType):
            return self.one_of(options, value, where)
        if origin is Literal:
            if isinstance(value, str | int) and (type(value), value) in [(type(one), one) for one in options]:
                return value
            raise self.unfit(where, value, f"one of {', '.join(map(str, options))}")
        if origin in (tuple, dict):
            return self.items(options, value, where) if origin is tuple else self.mapping(options[1], value, where)
        return self.record(kind, value, where) if is_dataclass(kind) else self.plain(kind, value, where)

    def plain(self, kind: Any, value: Any, where: str) -> Any:
        """Return text, a number, a truth or a path; a whole number may be written 3.0, and is left as it is."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = {
            float: number,
            int: number and value == int(value),
            bool: isinstance(value, bool),
            str: isinstance(value, str),
            Path: isinstance(value, str),
        }
        if not fits[kind]:
            raise self.unfit(where, value, WORDS[kind])
        return Path(value) if kind is Path else value

    def one_of(self, kinds: tuple[Any, ...], value: Any, where: str) -> Any:
        """Return a value of the first type that it fits."""
        if value is None and NoneType in kinds:
            return None
        *others, last = (kind for kind in kinds if kind is not NoneType)
        for kind in others:
            try:
                return self.read(kind, value, where)
            except SavedFileError:
                continue
        return self.read(last, value, where)

    def items(self, kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
        """Return a tuple of one type and any length, or of given types."""
        if not isinstance(value, list):
            raise self.unfit(where, value, "a list")
        each = (kinds[0],) * len(value) if kinds[-1] is Ellipsis else kinds
        if len(each) != len(value):
            raise SavedFileError(f"{self.source}: {where} has {len(value)} values, not {len(each)}.", HINT)
        pairs = zip(each, value, strict=True)
        return tuple(self.read(kind, part, f"{where}[{i}]") for i, (kind, part) in enumerate(pairs))

    def mapping(self, kind: Any, value: Any, where: str) -> Mapping[str, Any]:
        """Return a dictionary by text."""
        if not isinstance(value, dict):
            raise self.unfit(where, value, "an object")
        return {name: self.read(kind, part, _inside(where, name)) for name, part in value.items()}

    def time(self, value: Any, where: str) -> int:
        """Return microseconds since 1970."""
        if not isinstance(value, str):
            raise self.unfit(where, value, "a time")
        try:
            return microseconds(value)
        except UsageError as error:
            raise self.unfit(where, value, "a time") from error


def _inside(where: str, name: str) -> str:
    return f"{where}.{printable(name)}" if where else printable(name)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:
        return False
