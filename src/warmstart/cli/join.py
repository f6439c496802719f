"""warmstart join"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import DUPLICATES, REPEATED, WITHOUT_OUTCOME
from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, command
from warmstart.cli.pages import check_paths
from warmstart.core import UsageError, printable, quoted
from warmstart.pipeline import EngineSettings

SHOWN = "What was shown: a file, a folder, a glob or a DuckDB file."
CAME = "What came of it: a file, a folder, a glob or a DuckDB file."


@command(duplicates=DUPLICATES, repeated=REPEATED, without_outcome=WITHOUT_OUTCOME)
def join(
    *,
    impressions: Annotated[str, typer.Argument(metavar="IMPRESSIONS", help=SHOWN)],
    outcomes: Annotated[str, typer.Argument(metavar="OUTCOMES", help=CAME)],
    on: list[str],
    out: Path,
    impression_time: str | None = None,
    outcome_time: str | None = None,
    window: str | None = None,
    until: str | None = None,
    keep_young: bool = False,
    reward: str | None = None,
    duplicates: str | None = None,
    repeated: str = "last",
    without_outcome: str = "zero",
    drop_nulls: bool = False,
    impressions_table: str | None = None,
    outcomes_table: str | None = None,
    html: HtmlOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Give impressions the rewards (delayed feedback) that arrived later, in another table.

    Options:
        on (COLUMN): What both know an impression by; SHOWN=CAME if names differ. May be repeated.
        out (FILE): The Parquet file to write.
        impression_time (COLUMN): When it was shown.
        outcome_time (COLUMN): When it came.
        window (SPAN): An outcome counts if it comes sooner after: 30m, 12h, 7d, 2w.
        until (TIME): Outcomes are known up to here; impressions whose window ends later are too young and left
            out.  [default: the last outcome]
        keep_young: Keep the impressions that are too young.
        reward (COLUMN): What an outcome is worth; 1 if absent.
        duplicates (RULE): Of several outcomes of an impression: first (default with times), sum, max (default
            without), or error.
        repeated (RULE): Of several impressions of a key: the last one before the outcome, or error.
        without_outcome (RULE): An impression without an outcome has the reward zero, or leave-out leaves it out
            (judgements, which are unknown where nobody judged).
        drop_nulls: Leave out rows with nulls, NaN or infinities; count them.
        impressions_table (NAME): Of a DuckDB file.
        outcomes_table (NAME): Of a DuckDB file.

    Examples:
        warmstart join shown.parquet clicks.parquet --on request --out joined.parquet
        warmstart join shown.parquet clicks.parquet --on request --impression-time shown_at \
            --outcome-time clicked_at --window 7d --out joined.parquet --html join.html
        warmstart join shown.parquet orders.csv --on customer=buyer --impression-time shown_at \
            --outcome-time ordered_at --window 12h --reward price --duplicates sum --out joined.parquet --json
    """
    from warmstart.joining import join as write
    from warmstart.report import ProgressDisplay, save_report, show

    pairs: dict[str, str] = {}
    for name in on:
        ours, _, theirs = name.partition("=")
        if ours in pairs:
            raise UsageError(f"--on names {quoted(ours)} twice.")
        pairs[ours] = theirs or ours
    check_paths(html, [], [impressions, outcomes], force=force, other=out)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        result = write(
            impressions,
            outcomes,
            out,
            on=pairs,
            impression_time=impression_time,
            outcome_time=outcome_time,
            window=window,
            until=until,
            keep_young=keep_young,
            reward=reward,
            duplicates=cast("Any", duplicates),
            repeated=cast("Any", repeated),
            without_outcome=cast("Any", without_outcome),
            drop_nulls=drop_nulls,
            impressions_table=impressions_table,
            outcomes_table=outcomes_table,
            engine=connected,
            force=force,
            on_progress=progress,
        )
    if html is not None:
        save_report(result, html, force=force)
    if json:
        typer.echo(result.to_json())
        return
    show(result.tables, result.notes, result.headline)
    time = "" if impression_time is None else f" --time {printable(impression_time)}"
    typer.echo(f"Next: warmstart audit {printable(out)} --context COLUMN --action COLUMN --reward reward{time}")
