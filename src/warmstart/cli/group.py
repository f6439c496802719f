"""warmstart group"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warmstart.cli.options import JsonOption, Without, command
from warmstart.pipeline import EngineSettings

LOG = "The log: Parquet, CSV or JSON files, folders or globs, or a DuckDB file."


@command()
def group(
    *,
    source: Annotated[list[str], typer.Argument(metavar="EVENTS...", help=LOG, show_default=False)],
    out: Path,
    text: str | None = None,
    embedding: str | None = None,
    texts: str | None = None,
    on: str | None = None,
    grouping: Path | None = None,
    groups: int | None = None,
    least: int = 200,
    features: int = 0,
    keep_text: bool = False,
    seed: int = 0,
    time: str | None = None,
    train_until: str | None = None,
    table: str | None = None,
    json: JsonOption = False,
    engine: Annotated[EngineSettings, Without("engine")],
) -> None:
    r"""Group events by their texts (prompts), so that contexts repeat, and write the log with a column group.

    The same input gives the same groups. Neither actions nor rewards are read; texts are left out of the log.

    Options:
        out (FOLDER): A new folder for the log with its groups and the saved grouping.
        text (COLUMN): The column of texts.
        embedding (COLUMN): A column of lists of numbers, instead of texts.
        texts (FILE): Another table that has the texts or embeddings.
        on (COLUMN): What both tables know an event by; OURS=THEIRS if names differ.
        grouping (FOLDER): Use the grouping of an earlier --out.
        groups (N): Their number.  [default: the fewest that explain four fifths of what any do]
        least (N): The events that a group needs where the number is chosen.
        features (N): Also write where each text lies, as N columns of numbers: contexts for modelled propensities.
        keep_text: Write the texts, too.
        seed (N): Of k-means.
        time (COLUMN): The column of times, for --train-until.
        train_until (TIME): Fit to the events before this moment only; all are assigned.
        table (NAME): Of a DuckDB file.

    Examples:
        warmstart group prompts.parquet --text prompt --out grouped
        warmstart group shown.parquet --text prompt --texts prompts.parquet --on request --groups 3 --out by-request
        warmstart group prompts.parquet --text prompt --grouping grouped --out grouped-again --json
    """
    from warmstart.core import printable
    from warmstart.grouping import group as write
    from warmstart.report import ProgressDisplay, show

    ours, _, theirs = (on or "").partition("=")
    options: dict[str, Any] = {"text": text, "embedding": embedding, "texts": texts, "grouping": grouping}
    options |= {
        "groups": groups,
        "least": least,
        "features": features,
        "keep_text": keep_text,
        "seed": seed,
        "time": time,
        "train_until": train_until,
        "table": table,
    }
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        result = write(
            source if len(source) > 1 else source[0],
            out,
            on={ours: theirs or ours} if on else None,
            **options,
            engine=connected,
            on_progress=progress,
        )
    if json:
        typer.echo(result.to_json())
        return
    show(result.tables, result.notes)
    rest = "--action COLUMN --reward COLUMN --policy constants"
    typer.echo(f"Next: warmstart evaluate {printable(result.events)} --context group {rest}")
    if result.features:
        contexts = " ".join(f"--context {printable(name)}" for name in result.features)
        typer.echo(f"By text: warmstart evaluate {printable(result.events)} {contexts} --propensities mixture {rest}")
