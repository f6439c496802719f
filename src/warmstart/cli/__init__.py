"""The command line: parse, call, render, exit code."""

from warmstart.cli.app import main

__all__ = ["main"]
