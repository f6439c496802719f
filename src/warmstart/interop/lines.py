"""Lines of text files, one at a time, gzipped or not; malformed ones raise an error or are counted."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from warmstart.core import MalformedLineError, Progress, SourceError, UsageError, first_lines, printable, quoted, silent

GZIP_MAGIC = b"\x1f\x8b"
SHOWN_MESSAGES = 5
PROGRESS_EVERY = 4096

T = TypeVar("T")


class BadLineError(Exception):
    """What is wrong with a line, before it is known which line it is; the hint says what to do."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


@dataclass
class MalformedLines:
    """What to do about malformed lines: raise an error at the first, or skip and count them."""

    skip: bool = False
    lines: int = 0
    messages: list[str] = field(default_factory=list)

    def add(self, path: Path, number: int, error: BadLineError) -> None:
        """Raise the error with the name of the file and the number of the line, or count it."""
        malformed = MalformedLineError(str(path), number, str(error), error.hint)
        if not self.skip:
            raise malformed from error
        self.lines += 1
        if len(self.messages) < SHOWN_MESSAGES:
            self.messages.append(malformed.message)


@dataclass(frozen=True)
class LogFile:
    """A log in a text file, with what to do about its malformed lines and where to report progress."""

    path: Path
    malformed: MalformedLines = field(default_factory=MalformedLines)
    on_progress: Progress = silent

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give the lines of the file without their ends, numbered from 1."""
        size = max(self.path.stat().st_size, 1)
        try:
            with self.path.open("rb") as raw:
                compressed = raw.read(2) == GZIP_MAGIC
                raw.seek(0)
                binary = gzip.GzipFile(fileobj=raw) if compressed else raw
                # Bytes that are no UTF-8 become surrogates, and are then refused line by line.
                with io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
                    for i, line in enumerate(lines, start=1):
                        if i % PROGRESS_EVERY == 0:
                            self.on_progress(f"reading {self.path.name}", min(raw.tell() / size, 1.0))
                        end = -2 if line.endswith("\r\n") else -1 if line.endswith("\n") else None
                        yield i, line[:end]
        except (EOFError, zlib.error, gzip.BadGzipFile, OSError) as error:
            raise SourceError(f"Cannot read {printable(self.path)}: {first_lines(error)}") from error

    def parse(self, parse_line: Callable[[str], T]) -> Iterator[T]:
        """Give what ``parse_line`` returns for each line that is not blank; it raises BadLineError for a bad one."""
        for number, line in self.lines():
            if not line or line.isspace():
                continue
            try:
                yield parse_line(check_utf8(line))
            except BadLineError as error:
                self.malformed.add(self.path, number, error)


def named_files(sources: str | Path | Sequence[str | Path], *, hint: str = "") -> list[Path]:
    """Return the paths of at least one file; refuse one that does not exist, with this hint."""
    paths = [Path(sources)] if isinstance(sources, str | Path) else [Path(source) for source in sources]
    if not paths:
        raise UsageError("Name at least one file.")
    for path in paths:
        if not path.is_file():
            raise SourceError(f"There is no file {quoted(str(path))}.", hint)
    return paths


def check_utf8(line: str) -> str:
    """Return the line; refuse one with bytes that are no UTF-8."""
    if not line.isascii():
        try:
            line.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadLineError("it is not UTF-8") from error
    return line
