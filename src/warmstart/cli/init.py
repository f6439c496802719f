"""warmstart init"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from warmstart.cli.options import ForceOption, JsonOption, command
from warmstart.core import printable
from warmstart.pipeline import CONFIG, EngineSettings

LOG = "The log, as all commands take it: files, folders or globs, a DuckDB file, or the address of a database."
LogArgument = Annotated[
    list[str] | None, typer.Argument(metavar="EVENTS...", help=LOG, show_default=False)
]  # fmt: skip


@command(epoch=("hour", "day", "week"))
def init(
    *,
    events: LogArgument = None,
    context: list[str] | None = None,
    action: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: list[str] | None = None,
    epoch: str | None = None,
    propensity: str | None = None,
    event_id: str | None = None,
    also: list[str] | None = None,
    minimize: list[str] | None = None,
    range: list[str] | None = None,  # noqa: A002
    table: str | None = None,
    drop_nulls: bool = False,
    yes: bool = False,
    out: Path = CONFIG,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Look at a log, propose which column is what, and write warmstart.toml, which all commands read.

    Where a column is not clear it asks, if it runs in a terminal; else options say it. --time none and the like: there
    is no such column.

    Options:
        context (COLUMN): What was known before acting. May be repeated.
        action (COLUMN): What was shown.
        reward (COLUMN): What came of it.
        time (COLUMN): When.
        unit (COLUMN): Who comes back. May be repeated.
        epoch (EPOCH): How the log divides into epochs of one logging policy each: hour, day, week or a column.
        propensity (COLUMN): The logged probability of what was shown.
        event_id (COLUMN): What tells events apart.
        also (COLUMN): A further outcome. May be repeated.
        minimize (COLUMN): An outcome of which less is better. May be repeated.
        range (COLUMN=LO:HI): The possible values of an outcome, if not 0 to 1. May be repeated.
        table (NAME): The table of a database.
        drop_nulls: Leave rows with nulls out, in all commands.
        yes: Take the likeliest columns without a question.
        out (FILE): The file to write.

    Examples:
        warmstart init log.parquet --context page --action ad --yes
        warmstart init 'log/*.csv' --reward click --context page --yes --out ads.toml
        warmstart init log.parquet --unit customer --context page --context hour --yes --json --out again.toml
    """
    from warmstart import pipeline
    from warmstart.core import UsageError, check_output
    from warmstart.events import parse_ranges
    from warmstart.report import ProgressDisplay, show

    if not events and table is None:
        raise UsageError("Name the log: files, or --table NAME.")
    if out.suffix != ".toml":
        raise UsageError(f"--out writes .toml, not '{out.suffix}'.")
    check_output(out, inputs=[events], force=force)
    connected = engine.connect()
    several = {"context": context, "unit": unit, "also": also, "minimize": minimize}
    given: dict[str, Any] = {name: value or () for name, value in several.items()}
    given |= {"action": action, "reward": reward, "time": time, "epoch": epoch, "table": table}
    asks = sys.stdin.isatty() and not yes
    with ProgressDisplay(connected) as progress:
        progress("looking at columns")

        def ask(question: str, choices: Sequence[str], default: str) -> str:
            with progress.paused():
                return _ask(question, choices, default)

        proposal = pipeline.init(
            events,
            **given,
            propensity=propensity,
            event_id=event_id,
            ranges=parse_ranges(range or ()),
            drop_nulls=drop_nulls,
            engine=connected,
            ask=ask if asks else None,
            accept=yes,
        )
    proposal.save(out, force=force)
    if json:
        typer.echo(proposal.to_json())
    else:
        more = f"Wrote {printable(out)}. Next: warmstart audit, then warmstart evaluate."
        show(proposal.tables, [*proposal.notes, more], proposal.headline)


def _ask(question: str, choices: Sequence[str], default: str) -> str:
    """Ask on the terminal; the likeliest answer is taken with Enter."""
    listed = f" [{', '.join(map(printable, choices))}]" if choices else ""
    answer: str = typer.prompt(f"{printable(question)}{listed}", default=default or None, err=True)
    return answer.strip()
