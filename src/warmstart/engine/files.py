"""Find the files that a path names, tell their format, and check that they have one schema."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warmstart.core import SourceError, UsageError, first_lines, printable, quoted
from warmstart.engine.databases import check_url, is_storage, is_url, without_credentials
from warmstart.engine.engine import FileKind

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES: Mapping[str, FileKind] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    **{f"{ending}{gz}": "csv" for ending in (".csv", ".tsv") for gz in ("", ".gz")},
    **{f"{ending}{gz}": "json" for ending in (".json", ".jsonl", ".ndjson") for gz in ("", ".gz")},
}


def expand(pattern: str) -> list[str]:
    """Return the files that a path, a folder or a glob names."""
    if not pattern:
        raise UsageError("A path is empty.")
    if is_url(pattern):
        check_url(pattern)
        raise UsageError(
            f"{without_credentials(pattern)} is no file.", "A URL can name one log in a database, and nothing else."
        )
    if is_storage(pattern):
        raise UsageError(f"{printable(pattern)} is read by Spark alone.", "Pass engine='spark' (--engine spark).")
    path = Path(pattern)
    if path.is_file():
        return [pattern]
    if path.is_dir():
        if files := sorted(str(file) for file in path.rglob("*") if _is_data(file, path)):
            return files
        raise SourceError(f"The folder {quoted(pattern)} has no Parquet, CSV or JSON files.")
    if glob.has_magic(pattern):
        if files := sorted(file for file in glob.glob(pattern, recursive=True) if Path(file).is_file()):
            return files
        raise SourceError(f"No file matches {quoted(pattern)}.")
    folder = "" if path.parent.is_dir() else f" The folder {quoted(str(path.parent))} does not exist either."
    raise SourceError(f"There is no file {quoted(pattern)}.{folder}")


def kind_of(path: str) -> FileKind:
    """Return the format of a file, known by its ending."""
    for suffix, kind in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return kind
    raise SourceError(
        f"{printable(path)}: the format is told by the ending, and this one is not known.",
        f"Known endings: {', '.join(SUFFIXES)}. A spreadsheet is saved as CSV (UTF-8) first.",
    )


def one_kind(paths: Sequence[str]) -> FileKind:
    """Return the common format of files; refuse empty files, and files of different formats or Parquet schemas."""
    first = kind_of(paths[0])
    if empty := next((path for path in paths if not Path(path).stat().st_size), None):
        raise SourceError(f"{printable(empty)} is empty.")
    for path in paths[1:]:
        if kind_of(path) != first:
            raise SourceError(
                f"{printable(paths[0])} and {printable(path)} have different formats: they cannot be one log."
            )
    if first == "parquet":
        _check_schemas(paths)
    return first


def parquet_schema(path: str) -> pa.Schema:
    """Return the schema of a Parquet file, read from its footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"Cannot read {printable(path)}: {first_lines(error)}") from error


def partition_root(path: str) -> str | None:
    """Return the folder above the first Hive partition (column=value) of a file, if there is one."""
    parts = () if is_storage(path) else Path(path).parts
    for i, part in enumerate(parts[:-1]):
        if "=" in part:
            return str(Path(*parts[:i])) if i else "."
    return None


def different_schemas(
    paths: tuple[str, str], types: tuple[Mapping[str, str], Mapping[str, str]], columns: Iterable[str]
) -> SourceError:
    """Return the error that two files have different schemas, with the types of the columns that differ."""
    one, other = types
    shown = [f"{quoted(name)} is {one.get(name, 'absent')} and {other.get(name, 'absent')}" for name in columns]
    return SourceError(
        f"{printable(paths[0])} and {printable(paths[1])} have different schemas: "
        f"{', '.join(shown) or 'their columns are in another order'}.",
        "Write them with one schema, or read them apart.",
    )


def _check_schemas(paths: Sequence[str]) -> None:
    # Engines accept files of different schemas in silence: by position, or with the first file's types.
    first = parquet_schema(paths[0])
    for path in paths[1:]:
        schema = parquet_schema(path)
        if schema.names != first.names or schema.types != first.types:
            one, other = ({field.name: str(field.type) for field in fields} for fields in (first, schema))
            differing = [name for name in one | other if one.get(name) != other.get(name)]
            raise different_schemas((paths[0], path), (one, other), differing)


def _is_data(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden and file.name.lower().endswith(tuple(SUFFIXES))
