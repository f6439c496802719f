"""The JSON Schema (draft 2020-12) of saved results, made from their dataclasses."""

from __future__ import annotations

from dataclasses import is_dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from warmstart.results.display import SCHEMA, Unbounded
from warmstart.results.forms import Time, form_of, keys_of, kinds

DRAFT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES: dict[Any, str] = {str: "string", Path: "string", int: "integer", float: "number", bool: "boolean"}


def result_schema() -> dict[str, Any]:
    """Return the schema of everything that ``save`` and ``--json`` write.

    Keys are those that this version writes; others are allowed, since later versions add some.
    """
    parts: dict[str, Any] = {}
    for record in kinds().values():
        _add(record, parts)
    heads = {"schema": {"const": SCHEMA}, "kind": {"enum": list(kinds())}}
    return {
        "$schema": DRAFT,
        "title": "A result of warmstart",
        "description": "What save and --json write. Fields are added, never renamed, while the version stays.",
        "type": "object",
        "required": list(heads),
        "properties": heads,
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": _place(record)}}
            for kind, record in kinds().items()
        ],
        "$defs": dict(sorted(parts.items())),
    }


def _place(record: type) -> str:
    return f"#/$defs/{record.__name__}"


def _add(record: type, parts: dict[str, Any]) -> None:
    """Add the schema of a dataclass, and of all that it holds."""
    if record.__name__ in parts:
        return
    schema: dict[str, Any] = {"description": (getdoc(record) or "").partition("\n")[0], "type": "object"}
    parts[record.__name__] = schema
    keys, optional = keys_of(record), form_of(record).optional
    schema["required"] = [key.name for key in keys if key.name not in optional]
    schema["properties"] = {key.name: _schema(key.type, parts) for key in keys}


def _schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911
    """Return the schema of a type."""
    origin, options = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return {}
    if kind == Unbounded:
        return {"type": ["number", "null"]}
    if origin is Annotated:
        return {"type": "string", "format": "date-time"} if kind == Time else _schema(options[0], parts)
    if origin in (Union, UnionType):
        return _either([_schema(one, parts) for one in options])
    if origin is Literal:
        return {"enum": list(options)}
    if origin is tuple and options[-1] is Ellipsis:
        return {"type": "array", "items": _schema(options[0], parts)}
    if origin is tuple:
        size = len(options)
        each = [_schema(one, parts) for one in options]
        return {"type": "array", "prefixItems": each, "minItems": size, "maxItems": size}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(options[1], parts)}
    if is_dataclass(kind) and isinstance(kind, type):
        _add(kind, parts)
        return {"$ref": _place(kind)}
    return {"type": "null"} if kind is NoneType else {"type": JSON_TYPES[kind]}


def _either(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of what fits one of several: a list of types where these are all that they say."""
    if all(set(one) == {"type"} and isinstance(one["type"], str) for one in schemas):
        return {"type": [one["type"] for one in schemas]}
    return {"anyOf": schemas}
