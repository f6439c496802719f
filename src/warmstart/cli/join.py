"""warmstart join"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import DUPLICATES, REPEATED, one_of
from warmstart.cli.options import DropNullsOption, EngineOption, JsonOption, MemoryOption, ThreadsOption
from warmstart.core.errors import UsageError
from warmstart.core.text import printable, quoted

ImpressionsArgument = Annotated[
    str, typer.Argument(metavar="IMPRESSIONS", help="What was shown: a file, a folder, a glob or a DuckDB file.")
]
OutcomesArgument = Annotated[
    str, typer.Argument(metavar="OUTCOMES", help="What came of it: a file, a folder, a glob or a DuckDB file.")
]
OnOption = Annotated[
    list[str],
    typer.Option(
        "--on", metavar="COLUMN", help="What both know an impression by; SHOWN=CAME if names differ. May be repeated."
    ),
]
OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="The Parquet file to write.")]
ImpressionTimeOption = Annotated[
    str | None, typer.Option("--impression-time", metavar="COLUMN", help="When it was shown.")
]
OutcomeTimeOption = Annotated[str | None, typer.Option("--outcome-time", metavar="COLUMN", help="When it came.")]
WindowOption = Annotated[
    str | None,
    typer.Option("--window", metavar="SPAN", help="An outcome counts if it comes sooner after: 30m, 12h, 7d, 2w."),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Outcomes are known up to here; impressions whose window ends later are too young and left out.  "
        "[default: the last outcome]",
    ),
]
KeepYoungOption = Annotated[bool, typer.Option("--keep-young", help="Keep the impressions that are too young.")]
RewardOption = Annotated[
    str | None,
    typer.Option("--reward", metavar="COLUMN", help="What an outcome is worth; 1 if no column is named."),
]
DuplicatesOption = Annotated[
    str | None,
    typer.Option(
        "--duplicates",
        autocompletion=one_of(DUPLICATES),
        metavar="RULE",
        help="Of several outcomes of an impression: first (default with times), sum, max (default without), or error.",
    ),
]
RepeatedOption = Annotated[
    str,
    typer.Option(
        "--repeated",
        autocompletion=one_of(REPEATED),
        metavar="RULE",
        help="Of several impressions of a key: the last one before the outcome, or error.",
    ),
]
ImpressionsTableOption = Annotated[
    str | None, typer.Option("--impressions-table", metavar="NAME", help="The table of a DuckDB file.")
]
OutcomesTableOption = Annotated[
    str | None, typer.Option("--outcomes-table", metavar="NAME", help="The table of a DuckDB file.")
]

EXAMPLES = """
\b
Examples:
  warmstart join shown.parquet clicks.parquet --on request --out joined.parquet
  warmstart join shown.parquet clicks.parquet --on request --impression-time shown_at --outcome-time clicked_at \\
      --window 7d --out joined.parquet
  warmstart join shown.parquet orders.csv --on customer=buyer --impression-time shown_at --outcome-time ordered_at \\
      --window 12h --reward price --duplicates sum --out joined.parquet --json
"""


def join(
    *,
    impressions: ImpressionsArgument,
    outcomes: OutcomesArgument,
    on: OnOption,
    out: OutOption,
    impression_time: ImpressionTimeOption = None,
    outcome_time: OutcomeTimeOption = None,
    window: WindowOption = None,
    until: UntilOption = None,
    keep_young: KeepYoungOption = False,
    reward: RewardOption = None,
    duplicates: DuplicatesOption = None,
    repeated: RepeatedOption = "last",
    drop_nulls: DropNullsOption = False,
    impressions_table: ImpressionsTableOption = None,
    outcomes_table: OutcomesTableOption = None,
    engine: EngineOption = "duckdb",
    memory_limit: MemoryOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Give impressions the rewards that arrived later, in another table."""
    from rich.console import Console

    from warmstart.engine import connect
    from warmstart.joining import join as write
    from warmstart.report import Working, show

    held = connect(engine, memory_limit=memory_limit, threads=threads)
    with Working(Console(stderr=True), held) as work:
        found = write(
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
            engine=held,
            on_step=work.step,
        )
    if json:
        typer.echo(found.to_json())
        return
    show(Console(), found.tables, found.notes)
    time = "" if impression_time is None else f" --time {printable(impression_time)}"
    typer.echo(f"Next: warmstart audit {printable(out)} --context COLUMN --action COLUMN --reward reward{time}")


join.__doc__ = f"{join.__doc__}\n{EXAMPLES}"


def _pairs(on: list[str]) -> dict[str, str]:
    pairs = {}
    for name in on:
        ours, _, theirs = name.partition("=")
        if ours in pairs:
            raise UsageError(f"--on names {quoted(ours)} twice.")
        pairs[ours] = theirs or ours
    return pairs
