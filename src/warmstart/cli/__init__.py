"""The command line: parse, call, render, exit code."""

from __future__ import annotations

from typing import NoReturn

from warmstart.cli.interruption import program

__all__ = ["main", "program"]


def main() -> NoReturn:
    """Run the command line inside this process, and exit."""
    from warmstart.cli.app import main

    main()
