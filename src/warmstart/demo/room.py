"""The folder of a demo: it replaces what an earlier demo left there, once the new one is done, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from warmstart.core import OutputError, UsageError, quoted, remove, temporary_path

# Lists the files that a demo wrote.
MARK = ".warmstart-demo"


@contextmanager
def make_room(out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give a new folder for files and folders of these names; they move to ``out`` once the block is done.

    Until then what an earlier demo left is as it was; each of its files is then replaced or removed. Files that no demo
    wrote stay where they are, also those inside the demo's folders.
    """
    _check(out, names)
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    part = temporary_path(out)
    try:
        part.mkdir()
        yield part
        _move(part, out)
    except OutputError as error:
        # It names a file of the room, which is gone.
        _, _, why = error.message.partition(": ")
        raise OutputError(f"Cannot write the demo to {quoted(str(out))}: {why}", error.hint) from error
    finally:
        remove(part)


def _move(part: Path, out: Path) -> None:
    """Move the files of a new demo to the places of those of an earlier one."""
    out.mkdir(exist_ok=True)
    new, earlier = _files(part), _earlier(out)
    for name in sorted(new - earlier):
        if taken := _taken(out, name):
            raise _not_ours(taken)
    # Whatever happens in the middle: the next demo knows all of these files as those of a demo.
    _write_mark(part, out, new | earlier)
    for name in sorted(new):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).replace(out / name)
    for name in earlier - new:
        (out / name).unlink(missing_ok=True)
        with suppress(OSError):
            for folder in list(Path(name).parents)[:-1]:
                (out / folder).rmdir()
    _write_mark(part, out, new)


def _write_mark(part: Path, out: Path, names: Iterable[str]) -> None:
    (part / MARK).write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
    (part / MARK).replace(out / MARK)


def _earlier(out: Path) -> set[str]:
    """Return the files, by the mark, that an earlier demo left and that are there; of folders all that is in them."""
    mark, result = out / MARK, set()
    for name in mark.read_text(encoding="utf-8").split("\n") if mark.is_file() else ():
        parts, path = Path(name).parts, out / name
        # The mark may be somebody else's: nothing outside is named by it, by a link neither.
        if not parts or ".." in parts or not path.parent.resolve().is_relative_to(out.resolve()):
            continue
        if path.is_dir() and not path.is_symlink():
            result |= {f"{name}/{inner}" for inner in _files(path)}
        elif path.is_file() or path.is_symlink():
            result.add(path.relative_to(out).as_posix())
    return result


def _files(folder: Path) -> set[str]:
    paths = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return {path.relative_to(folder).as_posix() for path in paths}


def _taken(out: Path, name: str) -> Path | None:
    """Return what is in the place of a file and is not of a demo: a file, a folder, or a link on the way to it."""
    for parent in list(Path(name).parents)[-2::-1]:
        if (out / parent).is_symlink() or (out / parent).is_file():
            return out / parent
    path = out / name
    return path if path.exists() or path.is_symlink() else None


def _check(out: Path, names: Sequence[str]) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{quoted(str(out))} is a file.", "Name a folder with --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UsageError(f"{quoted(str(out))} holds something else.", "Name a new folder with --out.")
    earlier = {Path(name).parts[0] for name in _earlier(out)} if out.is_dir() else set()
    if taken := [name for name in names if (out / name).exists() and name not in earlier]:
        raise _not_ours(out / taken[0])


def _not_ours(path: Path) -> UsageError:
    return UsageError(
        f"{quoted(str(path))} is there, and no demo wrote it.", "Move it, or name a new folder with --out."
    )
