"""The folder of a demo: it replaces what an earlier demo left there, once the new one is done, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from warmstart.core import UsageError, quoted, remove, temporary_path

MARK = ".warmstart-demo"


@contextmanager
def make_room(out: Path, names: Sequence[str]) -> Iterator[None]:
    """Let a block write files and folders of these names into ``out``.

    What an earlier demo left is set aside, put back if the block fails, and removed once it is done. Files that no demo
    wrote stay where they are.
    """
    _check(out, names)
    out.mkdir(parents=True, exist_ok=True)
    mark = out / MARK
    earlier = _earlier(out)
    aside = temporary_path(out)
    aside.mkdir()
    try:
        for name in earlier:
            (out / name).rename(aside / name)
        mark.write_text("\n".join(names) + "\n", encoding="utf-8")
        yield
    except BaseException:
        for name in names:
            remove(out / name)
        for name in earlier:
            if (aside / name).exists():
                (aside / name).rename(out / name)
        if not earlier:
            remove(mark)
        raise
    finally:
        remove(aside)


def _earlier(out: Path) -> list[str]:
    """Return the names, by its mark, of what an earlier demo left and is there."""
    mark = out / MARK
    names = mark.read_text(encoding="utf-8").split("\n") if mark.is_file() else []
    return [name for name in names if name != ".." and name and Path(name).name == name and (out / name).exists()]


def _check(out: Path, names: Sequence[str]) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{quoted(str(out))} is a file.", "Name a folder with --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UsageError(f"{quoted(str(out))} holds something else.", "Name a new folder with --out.")
    earlier = set(_earlier(out)) if out.is_dir() else set()
    if taken := [name for name in names if (out / name).exists() and name not in earlier]:
        raise UsageError(
            f"{quoted(str(out / taken[0]))} is there, and no demo wrote it.",
            "Move it, or name a new folder with --out.",
        )
