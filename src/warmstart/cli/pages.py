"""Files that commands write: pages, and tables beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warmstart.core import UsageError, check_output, quoted


def check_paths(
    out: Path | None, policies: list[str], inputs: list[Any], *, force: bool, other: Path | None = None
) -> None:
    """Refuse to write a page or a table onto an input, or onto another output of the same command.

    Args:
        out: The output, if it was asked for.
        policies: What may name files and folders of policies.
        inputs: What else is read.
        force: Whether a file may be replaced that warmstart did not write.
        other: What else the command writes.
    """
    if out is None:
        return
    if other is not None and other.resolve() == out.resolve():
        raise UsageError(f"{quoted(str(out))} is named twice.", "Name another file.")
    check_output(out, inputs=[*inputs, policy_paths(policies)], force=force)


def policy_paths(policies: list[str]) -> list[str]:
    """Return what could be files and folders in the words for policies: P, NAME=P, naive:FOLDER."""
    return [part.removeprefix("naive:") for text in policies for part in (text, text.partition("=")[2])]
