"""The command line: parse, call, render, exit code."""

from __future__ import annotations

from warmstart.cli.interruption import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main", "program"]


def main() -> NoReturn:
    """Run the command line inside this process, and exit."""
    from warmstart.cli.app import main

    main()
