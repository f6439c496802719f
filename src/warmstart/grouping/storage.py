"""Save and load a grouping: arrays without pickle, names as JSON, every one checked on loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from warmstart.core import SavedFileError, SourceError, __version__, first_lines, printable
from warmstart.grouping.grouping import BITS, Grouping
from warmstart.scoring import ArraySpec, damaged, read_array, sha256

FILE, FORMAT = "grouping.json", 1
CENTRES = ArraySpec("centres.npy", "float64", ("groups", "dimensions"))
PROJECTION = ArraySpec("projection.npy", "float32", ("buckets", "dimensions"))
# Of embeddings; earlier versions saved none.
DIRECTIONS = ArraySpec("directions.npy", "float32", ("dimensions", "directions"))
LARGEST_FILE = 1 << 20


def save_grouping(grouping: Grouping, folder: Path) -> None:
    """Write a grouping into a folder that is there."""
    arrays: list[tuple[ArraySpec, Any]] = [(CENTRES, grouping.centres)]
    for optional, array in ((PROJECTION, grouping.projection), (DIRECTIONS, grouping.directions)):
        if array is not None:
            arrays.append((optional, array))
    for spec, array in arrays:
        np.save(folder / spec.file, np.ascontiguousarray(array, dtype=spec.dtype), allow_pickle=False)
    about = {
        "format": FORMAT,
        "warmstart_version": __version__,
        "of": "embeddings" if grouping.projection is None else "texts",
        "names": list(grouping.names),
        "files": {spec.file: sha256(folder / spec.file) for spec, _ in arrays},
    }
    (folder / FILE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def load_grouping(folder: str | Path) -> Grouping:
    """Load a grouping that ``group`` saved: every file and field is checked, and no code is run."""
    path = Path(folder)
    if not (path / FILE).is_file():
        raise SourceError(f"{printable(folder)} is no saved grouping: it has no {FILE}.")
    names, of, files = _read_about(path)
    specs = [CENTRES, PROJECTION]
    if of == "embeddings":
        specs = [CENTRES, *([DIRECTIONS] if DIRECTIONS.file in files else [])]
    if set(files) != {spec.file for spec in specs}:
        raise damaged(FILE, "files are not those of its kind")
    for spec in specs:
        if sha256(path / spec.file) != files[spec.file]:
            raise damaged(spec.file, f"has another SHA-256 than {FILE} says: it is damaged or was changed")
    sizes = {"groups": len(names), "buckets": 1 << BITS}
    arrays = {spec: read_array(path, spec, sizes, reading="whole") for spec in specs}
    return Grouping(tuple(names), arrays[CENTRES], arrays.get(PROJECTION), arrays.get(DIRECTIONS))


def _read_about(path: Path) -> tuple[list[str], str, dict[str, str]]:
    try:
        if (path / FILE).stat().st_size > LARGEST_FILE:
            raise damaged(FILE, "is too large")
        about = json.loads((path / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(FILE, f"is not JSON ({first_lines(error)})") from error
    checks: dict[str, Any] = {
        "format": lambda value: type(value) is int,
        "warmstart_version": lambda value: type(value) is str,
        "of": lambda value: value in ("texts", "embeddings"),
        "names": lambda value: _is_texts(value) and 0 < len(value) == len(set(value)),
        "files": lambda value: type(value) is dict and _is_texts([*value.values()]),
    }
    if type(about) is not dict or set(about) != set(checks):
        raise damaged(FILE, f"has not exactly the fields {', '.join(checks)}")
    if wrong := next((name for name, is_right in checks.items() if not is_right(about[name])), None):
        raise damaged(FILE, f"{wrong} is not what it must be")
    if about["format"] != FORMAT:
        raise SavedFileError(f"{FILE}: format is {about['format']}, not {FORMAT}.", "Group again with this version.")
    return about["names"], about["of"], about["files"]


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(part) is str for part in value)
