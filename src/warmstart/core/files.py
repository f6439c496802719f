"""Files that are either whole or absent."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warmstart.core.errors import OutputError
from warmstart.core.text import first_lines, printable


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it when the block succeeds, remove it when it fails."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; rename it when the block succeeds, remove it when it fails."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def cannot_write(where: object, error: OSError) -> OutputError:
    """Build the error for a result that cannot be written."""
    why = error.strerror or first_lines(error)
    return OutputError(
        f"Cannot write {printable(where)}: {why}.", "Nothing was left there. Free space, or name a place."
    )


def write_atomically(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
