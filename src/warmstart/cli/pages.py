"""Pages that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warmstart.core import UsageError, check_output, quoted


def check_paths(html: Path | None, policies: list[str], others: list[Any], *, force: bool) -> None:
    """Refuse to write a page onto an input: P, NAME=P and naive:FOLDER may name files and folders.

    Args:
        html: The page, if one was asked for.
        policies: What may name files and folders of policies.
        others: Further inputs, and outputs of the same command.
        force: Whether another file may be replaced.
    """
    if html is None:
        return
    paths = [part.removeprefix("naive:") for text in policies for part in (text, text.partition("=")[2])]
    if any(isinstance(other, Path) and other.absolute() == html.absolute() for other in others):
        raise UsageError(f"{quoted(str(html))} is named twice.", "Name another file.")
    check_output(html, inputs=[*others, paths], force=force)
