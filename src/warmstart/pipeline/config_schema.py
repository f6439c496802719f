"""The JSON Schema (draft 2020-12) of ``warmstart.toml`` for editors, made from the settings."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from inspect import getdoc
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from warmstart.core import Moment
from warmstart.pipeline.config import POLICIES, SECTIONS, VERSION

DRAFT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES: dict[Any, str] = {str: "string", Path: "string", int: "integer", float: "number", bool: "boolean"}
POLICY = (
    "logging, uniform, uniform-all, constants, constant:ACTION, column:NAME, naive:FOLDER, a folder that fit wrote, or "
    "a file of decisions."
)


def config_schema() -> dict[str, Any]:
    """Return the schema of a settings file."""
    policies = {
        "type": "object",
        "description": "Policies to evaluate, by name.",
        "additionalProperties": {"type": "string", "minLength": 1, "description": POLICY},
        "propertyNames": {"pattern": "^[^=]+$"},
    }
    version = {"const": VERSION, "description": "The version of the file's form."}
    sections = {name: _section(kinds) for name, kinds in SECTIONS.items()}
    return {
        "$schema": DRAFT,
        "title": "Settings of warmstart (warmstart.toml)",
        "description": "What commands read where no option says otherwise. Keys are the names of the Python functions.",
        "type": "object",
        "additionalProperties": False,
        "properties": {"version": version, **sections, POLICIES: policies},
    }


def _section(kinds: tuple[type, ...]) -> dict[str, Any]:
    """Return the schema of one table: every field of its settings, with what the command line says of it."""
    results: dict[str, Any] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for one in fields(kind):
            about = one.metadata
            schema = _schema(hints[one.name], about.get("words") if about.get("closed") else None)
            bounds = {"minimum": about.get("least"), "maximum": about.get("most")}
            schema |= {name: number for name, number in bounds.items() if number is not None}
            results[one.name] = {"description": about["help"], **schema}
    text = " ".join((getdoc(kind) or "").partition("\n")[0] for kind in kinds)
    return {"type": "object", "description": text, "additionalProperties": False, "properties": results}


def _schema(kind: Any, words: tuple[str, ...] | None) -> dict[str, Any]:  # noqa: PLR0911
    """Return the schema of a type: what the reader takes for it."""
    options = [one for one in get_args(kind) if one is not NoneType] if NoneType in get_args(kind) else [kind]
    if date in options or kind == Moment:
        # A date of TOML is text to a schema.
        return {"type": ["string", "integer"]}
    one = options[0]
    origin, parts = get_origin(one), get_args(one)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is list:
        single = _schema(parts[0], words)
        return {"anyOf": [single, {"type": "array", "items": single}]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], None)}
    if origin is tuple:
        each = [_schema(part, None) for part in parts]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if origin is not None:
        return {"anyOf": [_schema(part, words) for part in parts]}
    return {"enum": list(words)} if words else {"type": JSON_TYPES[one]}
