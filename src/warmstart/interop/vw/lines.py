"""Lines of text files, one at a time, compressed or not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from warmstart.core.errors import MalformedLineError, SourceError, UsageError
from warmstart.core.progress import Progress, silent
from warmstart.core.text import first_lines, printable, quoted

GZIP_MAGIC = b"\x1f\x8b"
SHOWN_MESSAGES = 5
PROGRESS_EVERY = 4096
# Bytes that are no UTF-8 become these, and are then refused line by line.
NO_UTF8 = "surrogateescape"


@dataclass
class Malformed:
    """What to do about a malformed line: raise it, or count it and go on."""

    skip: bool = False
    lines: int = 0
    messages: list[str] = field(default_factory=list)

    def met(self, error: MalformedLineError) -> None:
        """Raise the error, or count it."""
        if not self.skip:
            raise error
        self.lines += 1
        if len(self.messages) < SHOWN_MESSAGES:
            self.messages.append(error.message)


def named_files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Check that there is at least one file, and that all exist."""
    paths = [Path(sources)] if isinstance(sources, str | Path) else [Path(source) for source in sources]
    if not paths:
        raise UsageError("Name at least one file.")
    for path in paths:
        if not path.is_file():
            raise SourceError(f"There is no file {quoted(str(path))}.")
    return paths


def numbered_lines(path: Path, on_progress: Progress = silent) -> Iterator[tuple[int, str]]:
    """Give the lines of a file without their ends, numbered from 1."""
    size = max(path.stat().st_size, 1)
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            with _text(raw, compressed=compressed) as lines:
                for i, line in enumerate(lines, start=1):
                    if i % PROGRESS_EVERY == 0:
                        on_progress(f"reading {path.name}", min(raw.tell() / size, 1.0))
                    end = -2 if line.endswith("\r\n") else -1 if line.endswith("\n") else None
                    yield i, line[:end]
    except (EOFError, zlib.error, gzip.BadGzipFile, OSError) as error:
        raise SourceError(f"Cannot read {printable(path)}: {first_lines(error)}") from error


def in_utf8(path: Path, number: int, line: str) -> str:
    """Return the line; refuse one with bytes that are no UTF-8."""
    if not line.isascii():
        try:
            line.encode("utf-8")
        except UnicodeEncodeError as error:
            raise MalformedLineError(str(path), number, "it is not UTF-8") from error
    return line


def _text(raw: IO[bytes], *, compressed: bool) -> IO[str]:
    if compressed:
        return gzip.open(raw, "rt", encoding="utf-8", errors=NO_UTF8, newline="\n")
    import io

    return io.TextIOWrapper(raw, encoding="utf-8", errors=NO_UTF8, newline="\n")
