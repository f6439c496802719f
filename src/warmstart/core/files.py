"""Write outputs: whole or not at all, never onto an input, never over a file that this tool did not write."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import OutputError, UsageError, WarmstartWarning
from warmstart.core.temporaries import remove, temporary_path
from warmstart.core.text import first_lines, is_unicode, printable, quoted
from warmstart.core.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

# Whether a folder may be renamed onto an empty one: not on Windows.
REPLACES_FOLDERS = os.name != "nt"
# What a Parquet file's metadata and a page's head say when this tool wrote them.
PARQUET_MARK, PAGE_MARK = b"warmstart", b'<meta name="generator" content="warmstart'
# Files on this machine as Spark and database drivers name them.
LOCAL_URL = re.compile(r"(file|sqlite):/{0,2}", re.IGNORECASE)
# How the file begins that a monitor appends to.
MONITOR_MARK = b'{"warmstart_monitor"'
# How a result begins that was saved as JSON.
RESULT_MARK = re.compile(rb'\{\s*"schema": \d+,\s*"kind": "[a-z-]+",\s')

# How a settings file begins, before the hash of the rest: one that was edited is somebody's own.
SETTINGS_MARK = b"# Written by warmstart init. "
# What a report of conditions says near its beginning.
CHECK_MARK = b"<!-- written by warmstart check -->"
# How text begins that a spreadsheet runs; a number is none.
FORMULA, NUMBER = r"^[=@\t\r+-]", r"^[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@contextmanager
def write_output(
    out: str | Path, *, inputs: Iterable[Any] = (), force: bool = False, folder: bool = False
) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to ``out`` when the block succeeds, remove it when it fails.

    Args:
        out: the file, or the new ``folder``, to write.
        inputs: what was read: paths, folders, globs, or lists of them. Nothing is ever written onto one or into one.
        force: replace a file that this tool did not write.
        folder: give a folder instead of the name of a file.
    """
    check_output(out, inputs=inputs, force=force, folder=folder)
    path = Path(out).absolute()
    temporary = temporary_path(path)
    try:
        if folder:
            temporary.mkdir(parents=True)
        yield temporary
        if folder and not REPLACES_FOLDERS and path.is_dir():
            path.rmdir()
        temporary.replace(path)
    except OSError as error:
        hint = "Nothing was left there. Free space, or name a place."
        raise OutputError(f"Cannot write {printable(out)}: {error.strerror or first_lines(error)}.", hint) from error
    finally:
        remove(temporary)


def check_output(out: str | Path, *, inputs: Iterable[Any] = (), force: bool = False, folder: bool = False) -> None:
    """Refuse an output that would replace an input or a file of somebody else, or that has no place to go.

    Commands call it before long work; ``write_output`` calls it again.
    """
    path = Path(out)
    if not is_unicode(str(out)):
        raise UsageError(f"{quoted(str(out))} is not UTF-8.", "Name another output.")
    check_no_input(path, inputs)
    if folder:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"{quoted(str(out))} is already there.", "Name a new folder.")
        return
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {quoted(str(path.parent))}.", "Make it first.")
    if path.exists() and not path.is_file():
        raise UsageError(f"{quoted(str(out))} is not a file.", "Name a file to write.")
    if path.exists() and path.stat().st_size and not force and mark_of(path) is None:
        raise UsageError(
            f"{quoted(str(out))} is already there, and warmstart did not write it.",
            "Name another file, or replace it with --force (force=True).",
        )


def check_no_input(out: Path, inputs: Iterable[Any]) -> None:
    """Refuse an output that is an input, or lies in one, by whatever path or link."""
    for source in _paths(inputs):
        if _is_input(out, source):
            what = "is an input" if Path(source).is_file() else f"lies in the input {quoted(source)}"
            raise UsageError(f"{quoted(str(out))} {what}.", "Inputs are never overwritten: name another output.")


def mark_of(path: Path) -> str | None:
    """Return the mark that this tool left in a file; None if it did not write it."""
    try:
        with path.open("rb") as file:
            head = file.read(2_048)
    except OSError:
        return None
    if head.startswith(SETTINGS_MARK):
        first, _, rest = path.read_bytes().partition(b"\n")
        return "settings" if first.endswith(hashlib.sha256(rest).hexdigest()[:16].encode()) else None
    if not head.startswith(b"PAR1"):
        marks = {"monitor": head.startswith(MONITOR_MARK), "result": RESULT_MARK.match(head), "page": PAGE_MARK in head}
        marks["check"] = CHECK_MARK in head[:200]
        return next((mark for mark, result in marks.items() if result), None)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        mark = (pq.read_schema(path).metadata or {}).get(PARQUET_MARK)
    except (OSError, pa.ArrowException):
        return None
    return None if mark is None else mark.decode(errors="replace")


def write_parquet(path: Path, tables: Iterable[pa.Table], *, mark: str = __version__) -> int:
    """Write tables of one schema as one Parquet file that says who wrote it; return how many rows it has."""
    rows = 0
    with ExitStack() as resources:
        write: Callable[[pa.Table], None] | None = None
        for table in tables:
            write = write or resources.enter_context(_parquet_writer(path, table.schema, mark))
            write(table)
            rows += table.num_rows
    return rows


def write_table(out: Path, table: pa.Table, *, inputs: Iterable[Any] = (), force: bool = False) -> None:
    """Write a table as CSV, if the name ends so, or else as Parquet."""
    with write_tables(out, inputs=inputs, force=force) as write:
        write(table)


@contextmanager
def write_tables(out: Path, *, inputs: Iterable[Any] = (), force: bool = False) -> Iterator[Callable[[pa.Table], None]]:
    """Give a function that writes tables of one schema, one after the other, to CSV, if the name ends so, or Parquet.

    Args:
        out: the file.
        inputs: what was read.
        force: replace a file that this tool did not write.
    """
    with write_output(out, inputs=inputs, force=force) as temporary, ExitStack() as resources:
        opened: list[Callable[[pa.Table], None]] = []

        def write(table: pa.Table) -> None:
            if not opened:
                kind = _csv_writer(temporary, table.schema) if out.suffix == ".csv" else None
                opened.append(resources.enter_context(kind or _parquet_writer(temporary, table.schema, __version__)))
            opened[0](table)

        yield write


@contextmanager
def _parquet_writer(path: Path, schema: pa.Schema, mark: str) -> Iterator[Callable[[pa.Table], None]]:
    import pyarrow.parquet as pq

    schema = schema.with_metadata({**(schema.metadata or {}), PARQUET_MARK: mark})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield lambda table: writer.write_table(table.cast(schema)) if table.num_rows else None


@contextmanager
def _csv_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    import pyarrow.csv as pa_csv

    formulas: set[str] = set()

    def write(table: pa.Table) -> None:
        if table.num_rows:
            formulas.update(_formulas(table))
            writer.write_table(table)

    with pa_csv.CSVWriter(path, schema) as writer:
        yield write
    if formulas:
        names = ", ".join(map(quoted, sorted(formulas)))
        warnings.warn(
            f"Spreadsheets would run values of {names} as formulas: import them as text, or write Parquet. (WS403)",
            WarmstartWarning,
            stacklevel=2,
        )


def _formulas(table: pa.Table) -> Iterator[str]:
    """Name the columns with text that a spreadsheet would run; values stay as they are, since they are keys."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            numbers = pc.match_substring_regex(column, NUMBER)
            if pc.any(pc.and_not(pc.match_substring_regex(column, FORMULA), numbers)).as_py():
                yield name


def _paths(sources: Iterable[Any]) -> Iterator[str]:
    """List the paths among sources: text, lists of text, tables of a database file. Frames have none."""
    for source in sources:
        if isinstance(source, list | tuple):
            yield from _paths(source)
            continue
        places = (source, getattr(source, "path", None), getattr(source, "url", None))
        for text in (str(place) for place in places if isinstance(place, str | Path) and str(place)):
            yield text
            # file:/a/b, file:///a/b and sqlite:///a/b are /a/b; sqlite://b is b.
            if local := LOCAL_URL.match(text):
                yield from (text[local.end() :], f"/{text[local.end() :].lstrip('/')}")


def _is_input(out: Path, source: str) -> bool:
    """Tell whether an output is an input, by whatever path or link, or would be matched by its folder or glob."""
    places = {out.resolve(), out.parent.resolve() / out.name}
    given = Path(source)
    if given.is_dir():
        root = given.resolve()
        return any(place.is_relative_to(root) for place in places) or _is_one_of(out, given.rglob("*"))
    if given.exists():
        return given.resolve() in places or _is_one_of(out, [given])
    if not glob.has_magic(source):
        return False
    parts = Path(os.path.abspath(source)).parts  # noqa: PTH100
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    pattern = (*Path(*parts[:plain]).resolve().parts, *parts[plain:])
    matched = any(_matches(place.parts, pattern) for place in places)
    return matched or _is_one_of(out, map(Path, glob.iglob(source, recursive=True)))


def _is_one_of(out: Path, files: Iterable[Path]) -> bool:
    return out.exists() and any(file.exists() and file.samefile(out) for file in files)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match a path with a glob, folder by folder, whether or not the file exists."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
