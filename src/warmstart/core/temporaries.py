"""Temporary files and folders, named so that a later run can tell, and remove, those whose process has died."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Of which file, on which machine, by which process: ".policy.warmstart-0a1b2c3d-4711-0123456789ab".
NAME = re.compile(r"\.(?P<of>.+)\.warmstart-(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]+)-[0-9a-f]{12}")

LONGEST = 190


def temporary_path(path: Path) -> Path:
    """Return a new name beside a path; remove what processes that were killed have left there for the same path."""
    path = path.absolute()
    remove_abandoned(path)
    return path.with_name(f".{_short(path.name)}.warmstart-{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:12]}")


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Give a new folder, for this user alone, below the system's temporary one, and remove it afterwards.

    Where a kill leaves it, the next folder of this name finds and removes it.
    """
    folder = temporary_path(Path(tempfile.gettempdir(), name))
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        remove(folder)


def remove_abandoned(path: Path) -> None:
    """Remove temporary files and folders of a path whose process, of this machine and user, runs no more."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            match = NAME.fullmatch(entry.name)
            if match is None or match["of"] != _short(path.name) or match["machine"] != _machine():
                continue
            with suppress(OSError):
                mine = not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
                if mine and not _runs(int(match["process"])):
                    remove(Path(entry.path))


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _short(name: str) -> str:
    """Return a name, or a digest of one so long that no more fits into the name of a file."""
    return name if len(os.fsencode(name)) <= LONGEST else hashlib.sha256(os.fsencode(name)).hexdigest()[:32]


def _machine() -> str:
    """Return what tells machines, and containers with process numbers of their own, apart."""
    try:
        numbers = Path("/proc/self/ns/pid").readlink()
    except OSError:
        numbers = Path()
    return hashlib.sha256(f"{platform.node()} {numbers}".encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    """Tell whether a process runs; True where that cannot be known.

    One that has ended and that nobody has waited for (a zombie) still takes signals: Linux tells it by its state.
    """
    if os.name == "nt":  # signal 0 would end the process there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    with suppress(OSError, IndexError):
        # The name before the state may hold anything, also spaces and brackets.
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return True
