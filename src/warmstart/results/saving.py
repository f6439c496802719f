"""Write a result to a file: as a page, as JSON, or its rows as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import UsageError, __version__, check_output, mark_of, quoted, write_output, write_parquet

if TYPE_CHECKING:
    from warmstart.results.display import Result

ENDINGS = (".html", ".json", ".parquet", ".toml")
# What the metadata of a Parquet file say that holds the rows of a result.
ROWS_MARK = "result "


def save_result(result: Result, path: str | Path, *, force: bool = False) -> Path:
    """Write a result in the format that the name ends in; return the path."""
    out, inputs = Path(path), list(_files(result))
    ending = out.suffix.lower()
    settings = getattr(result, "toml", None)
    if ending not in ENDINGS or (ending == ".toml" and settings is None):
        raise UsageError(
            f"A result is saved as a page (.html), as JSON (.json) or as rows (.parquet), and {quoted(out.name)} ends "
            "in none of these.",
            "Name it so.",
        )
    check_output(out, inputs=inputs, force=force)
    if ending == ".html":
        # The room of pages lies above this one; the package's front door knows it.
        page: Path = import_module("warmstart").save_report(result, out, force=force)
        return page
    if ending == ".parquet" and not force and out.exists() and out.stat().st_size:
        _check_rows(out)
    with write_output(out, inputs=inputs, force=force) as temporary:
        if ending == ".toml":
            # The hash in its first line is of these bytes, on every system.
            temporary.write_text(str(settings), encoding="utf-8", newline="\n")
        elif ending == ".json":
            temporary.write_text(result.to_json() + "\n", encoding="utf-8")
        else:
            write_parquet(temporary, [result.to_arrow()], mark=f"{ROWS_MARK}{__version__}")
    return out


def _check_rows(out: Path) -> None:
    """Refuse to replace another table of ours, such as a log that was joined or decisions."""
    if not (mark_of(out) or "").startswith(ROWS_MARK):
        raise UsageError(
            f"{quoted(str(out))} is already there, and holds no saved result.",
            "Name another file, or replace it with force=True.",
        )


def _files(result: Result) -> Iterator[Any]:
    """List the files that a result tells of, as far as it names them: they are no place to save it."""
    own = [getattr(result, field.name) for field in fields(result)]  # type: ignore[arg-type]
    yield from (value for value in own if isinstance(value, Path) and not value.is_dir())
    log = getattr(result, "log", None)
    yield from (getattr(log, name, ()) for name in ("files", "source"))
