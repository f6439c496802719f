"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import ENGINES, one_of
from warmstart.core.errors import UsageError
from warmstart.core.text import quoted

EventsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EVENTS...",
        help="The log: Parquet, CSV or JSON files, folders or globs, a DuckDB file, or postgres://USER@HOST/DATABASE.",
        show_default=False,
    ),
]
ContextOption = Annotated[
    list[str], typer.Option("--context", metavar="COLUMN", help="What was known before acting. May be repeated.")
]
ActionOption = Annotated[str, typer.Option("--action", metavar="COLUMN", help="What was shown.")]
RewardOption = Annotated[str, typer.Option("--reward", metavar="COLUMN", help="What came of it, in [0, 1].")]
TimeOption = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="When: a timestamp, a date or an epoch integer.")
]
RewardRangeOption = Annotated[
    tuple[float, float],
    typer.Option("--reward-range", metavar="LO HI", help="The scale of rewards, if it is not [0, 1]."),
]
DropNullsOption = Annotated[
    bool, typer.Option("--drop-nulls", help="Leave out rows with nulls, NaN or infinities, and count them.")
]
TableOption = Annotated[
    str | None,
    typer.Option(
        "--table", metavar="NAME", help="The table, [SCHEMA.]NAME, of a database; alone, one that the engine knows."
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        autocompletion=one_of(ENGINES),
        metavar="NAME",
        help="Where to compute: duckdb, spark or spark://HOST:PORT.",
    ),
]
MemoryOption = Annotated[
    str | None, typer.Option("--memory-limit", metavar="SIZE", help="The engine's memory, such as 4GB.")
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="The engine's threads.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page to look at and to send on, in one file.")
]


def check_folder(path: Path | None) -> None:
    """Refuse to begin long work whose output has no place to go."""
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {quoted(str(path.parent))}.", "Make it first.")
