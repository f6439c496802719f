"""warmstart join"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import DUPLICATES, REPEATED
from warmstart.cli.options import ForceOption, JsonOption, command, option
from warmstart.core import UsageError, printable, quoted
from warmstart.pipeline import EngineSettings

EXAMPLES = """
  warmstart join shown.parquet clicks.parquet --on request --out joined.parquet
  warmstart join shown.parquet clicks.parquet --on request --impression-time shown_at --outcome-time clicked_at \\
      --window 7d --out joined.parquet
  warmstart join shown.parquet orders.csv --on customer=buyer --impression-time shown_at --outcome-time ordered_at \\
      --window 12h --reward price --duplicates sum --out joined.parquet --json
"""

ImpressionsArgument = Annotated[
    str, typer.Argument(metavar="IMPRESSIONS", help="What was shown: a file, a folder, a glob or a DuckDB file.")
]
OutcomesArgument = Annotated[
    str, typer.Argument(metavar="OUTCOMES", help="What came of it: a file, a folder, a glob or a DuckDB file.")
]
OnOption = Annotated[
    list[str],
    option("--on", "COLUMN", "What both know an impression by; SHOWN=CAME if names differ. May be repeated."),
]
WindowOption = Annotated[
    str | None, option("--window", "SPAN", "An outcome counts if it comes sooner after: 30m, 12h, 7d, 2w.")
]
UntilOption = Annotated[
    str | None,
    option(
        "--until",
        "TIME",
        "Outcomes are known up to here; impressions whose window ends later are too young and left out.  "
        "[default: the last outcome]",
    ),
]
DuplicatesOption = Annotated[
    str | None,
    option(
        "--duplicates",
        "RULE",
        "Of several outcomes of an impression: first (default with times), sum, max (default without), or error.",
        words=DUPLICATES,
    ),
]
RepeatedOption = Annotated[
    str,
    option(
        "--repeated",
        "RULE",
        "Of several impressions of a key: the last one before the outcome, or error.",
        words=REPEATED,
    ),
]
NullsOption = Annotated[bool, option("--drop-nulls", None, "Leave out rows with nulls, NaN or infinities; count them.")]


@command(EXAMPLES)
def join(
    *,
    impressions: ImpressionsArgument,
    outcomes: OutcomesArgument,
    on: OnOption,
    out: Annotated[Path, option("--out", "FILE", "The Parquet file to write.")],
    impression_time: Annotated[str | None, option("--impression-time", "COLUMN", "When it was shown.")] = None,
    outcome_time: Annotated[str | None, option("--outcome-time", "COLUMN", "When it came.")] = None,
    window: WindowOption = None,
    until: UntilOption = None,
    keep_young: Annotated[bool, option("--keep-young", None, "Keep the impressions that are too young.")] = False,
    reward: Annotated[str | None, option("--reward", "COLUMN", "What an outcome is worth; 1 if absent.")] = None,
    duplicates: DuplicatesOption = None,
    repeated: RepeatedOption = "last",
    drop_nulls: NullsOption = False,
    impressions_table: Annotated[str | None, option("--impressions-table", "NAME", "Of a DuckDB file.")] = None,
    outcomes_table: Annotated[str | None, option("--outcomes-table", "NAME", "Of a DuckDB file.")] = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    """Give impressions the rewards (delayed feedback) that arrived later, in another table."""
    from rich.console import Console

    from warmstart.joining import join as write
    from warmstart.report import ProgressDisplay, show

    connected = engine.connect()
    with ProgressDisplay(Console(stderr=True), connected) as progress:
        result = write(
            impressions,
            outcomes,
            out,
            on=_pairs(on),
            impression_time=impression_time,
            outcome_time=outcome_time,
            window=window,
            until=until,
            keep_young=keep_young,
            reward=reward,
            duplicates=cast("Any", duplicates),
            repeated=cast("Any", repeated),
            drop_nulls=drop_nulls,
            impressions_table=impressions_table,
            outcomes_table=outcomes_table,
            engine=connected,
            force=force,
            on_progress=progress,
        )
    if json:
        typer.echo(result.to_json())
        return
    show(Console(), result.tables, result.notes)
    time = "" if impression_time is None else f" --time {printable(impression_time)}"
    typer.echo(f"Next: warmstart audit {printable(out)} --context COLUMN --action COLUMN --reward reward{time}")


def _pairs(on: list[str]) -> dict[str, str]:
    pairs = {}
    for name in on:
        ours, _, theirs = name.partition("=")
        if ours in pairs:
            raise UsageError(f"--on names {quoted(ours)} twice.")
        pairs[ours] = theirs or ours
    return pairs
