"""The schema of policy.json, and the settings that are read from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from warmstart.core import LaterVersionError, first_lines, printable, quoted
from warmstart.scoring.arrays import damaged, sha256
from warmstart.scoring.deferring import ranked_files
from warmstart.scoring.fields import (
    FILE,
    Check,
    flag,
    listed,
    mapping,
    number,
    one_of,
    optional,
    record,
    refuse,
    text,
    whole,
)
from warmstart.scoring.keys import check_kind, key_arrays
from warmstart.scoring.kinds import array_files, check_model
from warmstart.scoring.safe import SAFE
from warmstart.scoring.settings import KINDS_OF_WORDS, FeatureSettings, Kind

FORMAT = 2
DECISIONS = "decisions.parquet"
LEAST_BITS, MOST_BITS, MOST_BITS_OF_A_SIDE = 4, 30, 20
LARGEST = 1 << 23
# The years 1 to 9999, in microseconds since 1970.
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
_time, _name = optional(whole(EARLIEST, LATEST)), optional(text)


def _features(value: Any, where: str) -> None:
    kinds = one_of(*get_args(Kind))
    record(
        {
            "bits": whole(2, MOST_BITS_OF_A_SIDE),
            "constant": flag,
            "kinds": mapping(kinds),
            "weights": mapping(text),
            "scales": mapping(listed(number(), 2, 2)),
            "left_out": listed(text),
            "missing": listed(text),
            "named": listed(text),
        },
        absent=("missing", "named"),
    )(value, where)
    scaled = {name: kind for name, kind in value["kinds"].items() if kind in ("number", "date", "timestamp")}
    dimensions = tuple(f"{name}[" for name, kind in value["kinds"].items() if kind == "embedding")
    weighted = {name for name, kind in value["kinds"].items() if kind == "weighted words"}
    if set(value["weights"]) != weighted:
        raise damaged(FILE, f"{where}.weights must name the columns whose kind is weighted words, and no others")
    others = {name for name in value["scales"] if not (dimensions and name.startswith(dimensions))}
    if others - set(scaled) or set(scaled) - set(value["scales"]):
        raise damaged(FILE, f"{where}.scales must name the columns whose kind is number, and no others")
    if not set(value.get("missing", ())) <= set(value["kinds"]):
        raise damaged(FILE, f"{where}.missing must name columns of {where}.kinds")
    words = [name for name, kind in value["kinds"].items() if kind in KINDS_OF_WORDS]
    if (named := value.get("named")) and (len(words) == 1 or sorted(named) != sorted(words)):
        raise damaged(FILE, f"{where}.named must be empty, or name all columns of words, if they are several")
    if not all(spread > 0 for _, spread in value["scales"].values()):
        raise damaged(FILE, f"{where}.scales must have spreads above 0")


def _folds(value: Any, where: str) -> None:
    record({"of": whole(2), "seed": whole(-(2**63)), "fold": whole(), "keys": listed(text, 1), "rest": flag})(
        value, where
    )
    if value["fold"] >= value["of"]:
        raise damaged(FILE, f"{where}.fold must be below {where}.of")


_SHARE: Check = number(0, 1)
_REPORTED = {
    **dict.fromkeys(("known", "without_features", "buckets"), whole()),
    "features": optional(whole()),
    "sharing_a_bucket": optional(_SHARE),
    "columns": listed(text),
    "left_out": listed(text),
    "estimated": flag,
}
_SHARED_ACTION = {"action": text, "logging": number(), "policy": number(), "factor": number()}
_DEPARTURE = {
    **dict.fromkeys(
        ("same", "departs", "one_action", "undecided", "expected", "expected_of_logging", "mean_reward"), number()
    ),
    "contexts": whole(),
    "actions": listed(record(_SHARED_ACTION)),
    "drivers": listed(record({"name": one_of("action", "match", "record"), "factor": number(0), "largest": _SHARE})),
}


def _tried(value: Any, where: str) -> None:
    mapping(number())(value, where)
    for tau in value:
        try:
            float(tau)
        except ValueError:
            raise damaged(FILE, f"{where} must be named by numbers, and {quoted(tau)} is none") from None


_TRIED = {"value": optional(number()), "loss": optional(number()), "seconds": number(0), "why": _name}
_REPORT = {
    "halves": record(dict.fromkeys(("action", "context", "cell"), number(0))),
    "model": _name,
    "models_compared_by": text,
    "models_tried": mapping(record(_TRIED)),
    "shares": mapping(_SHARE),
    "events": whole(),
    "cells": whole(),
    "contexts": record(_REPORTED, absent=("estimated",)),
    "actions": record(_REPORTED, absent=("estimated",)),
    "departure": optional(record(_DEPARTURE, absent=("drivers",))),
    "safe": optional(record(SAFE)),
    "learned_from": text,
    "fit_tau": number(0, 1),
    "fit_taus_tried": _tried,
    "rate": optional(number(0)),
    "training_loss": optional(number()),
    "seed": whole(-(2**63)),
    "minimized": flag,
    "sources": record(dict.fromkeys(("log", "contexts", "actions"), _name), absent=("log", "contexts", "actions")),
}
_COLUMNS = {
    "context": listed(text, 1),
    **dict.fromkeys(("action", "reward"), text),
    **dict.fromkeys(("time", "propensity", "event_id", "epoch"), _name),
    **dict.fromkeys(("unit", "also"), listed(text)),
}
_WINDOW = {"events": whole(), **dict.fromkeys(("start", "stop", "first", "last"), _time), "steps": flag}
_ABOUT = record(
    {
        "format": whole(FORMAT, FORMAT),
        "warmstart_version": text,
        "columns": record(_COLUMNS),
        "window": record(_WINDOW, absent=("steps",)),
        "folds": optional(_folds),
        "model": optional(check_model),
        "action_type": check_kind,
        "context_features": _features,
        "action_features": _features,
        "lowest": number(0, 1),
        "defers": flag,
        "context_types": listed(check_kind, 1),
        # What was learned from what is for readers: nothing is chosen by it, and a policy may know only some of it.
        "report": record(_REPORT, absent=tuple(_REPORT)),
        "files": mapping(text),
    },
    absent=("defers", "context_types"),
)


def read_about(folder: Path, where: str) -> dict[str, Any]:
    """Return what policy.json says, every field checked."""
    try:
        if (folder / FILE).stat().st_size > LARGEST:
            raise damaged(FILE, f"is larger than {LARGEST >> 20} MB")
        about = json.loads((folder / FILE).read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except (OSError, ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not JSON ({first_lines(error)})"
        raise damaged(FILE, what) from error
    _check_format(about, where)
    _ABOUT(about, "")
    bits = about["context_features"]["bits"] + about["action_features"]["bits"]
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise damaged(FILE, f"context_features.bits + action_features.bits must be {LEAST_BITS} to {MOST_BITS}")
    names = (*about["columns"]["context"], about["columns"]["action"], "rank", "score")
    if len(set(names)) < len(names):
        raise damaged(FILE, "columns.context and columns.action must differ, also from 'rank' and 'score'")
    # Names of files are never taken from the file: they follow from the kind of model.
    keys = {spec.file for spec in key_arrays(about["action_type"]).values()}
    files = {FILE, DECISIONS, *keys, *array_files(about["model"]), *_ranked_files(about)}
    record(dict.fromkeys(sorted(files), text))(about["files"], "files")
    if about["files"][FILE] != own_sha256(about):
        raise damaged(FILE, f"has another SHA-256 than files.{FILE} says: it is damaged or was changed")
    return dict(about)


def _ranked_files(about: Mapping[str, Any]) -> set[str]:
    """Return the files of a policy that defers, which names the types of its contexts."""
    types = about.get("context_types", [])
    if len(types) != (len(about["columns"]["context"]) if about.get("defers") else 0):
        raise damaged(
            FILE, "context_types must have a type for each of columns.context if defers is true, and none else"
        )
    return ranked_files(types) if types else set()


def read_files(folder: Path, about: Mapping[str, Any]) -> None:
    """Refuse files with another checksum than policy.json says."""
    for name, checksum in about["files"].items():
        if name != FILE and sha256(folder / name) != checksum:
            raise damaged(name, f"has another SHA-256 than files.{name} of {FILE} says: it is damaged or was changed")


def own_sha256(about: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what policy.json says, its own checksum left out: of JSON with sorted keys."""
    files = {name: checksum for name, checksum in about["files"].items() if name != FILE}
    return hashlib.sha256(json.dumps({**about, "files": files}, sort_keys=True).encode()).hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


def _check_format(about: Any, where: str) -> None:
    if type(about) is not dict:
        refuse("the file", "an object", about)
    given = about.get("format")
    if type(given) is int and given > FORMAT:
        version = about.get("warmstart_version")
        shown = f" ({shown_version(version)})" if isinstance(version, str) else ""
        later = f"{where} was written by a later version of warmstart{shown}: {FILE}: format is {str(given)[:20]}."
        raise LaterVersionError(later, "Load it with that version.")
    if type(given) is int and 1 <= given < FORMAT:
        raise damaged(FILE, f"format is {given}: the policy was written by an earlier version; fit again")


def shown_version(version: str) -> str:
    """Return a version to show."""
    return printable(version[:20])


def settings_of(saved: Mapping[str, Any]) -> FeatureSettings:
    """Return how a table becomes features."""
    scales = {name: (float(mean), float(spread)) for name, (mean, spread) in saved["scales"].items()}
    columns = {name: tuple(saved.get(name, ())) for name in ("left_out", "missing", "named")}
    return FeatureSettings(**{**saved, "scales": scales, **columns})
