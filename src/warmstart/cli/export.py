"""warmstart export"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import EXPORTS, one_of
from warmstart.cli.options import (
    ActionOption,
    ContextOption,
    DropNullsOption,
    EngineOption,
    EventsArgument,
    JsonOption,
    MemoryOption,
    RewardOption,
    RewardRangeOption,
    TableOption,
    ThreadsOption,
    TimeOption,
    check_folder,
)
from warmstart.core.errors import UsageError

ToOption = Annotated[
    str,
    typer.Option("--to", autocompletion=one_of(EXPORTS), metavar="FORMAT", help="vw-cb, vw-adf, dsjson or parquet."),
]
TauOption = Annotated[float, typer.Option("--tau", metavar="TAU", help="The floor of the propensity, in (0, 1].")]
OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")]
ContextsOption = Annotated[
    Path | None, typer.Option("--contexts", metavar="FILE", help="What is known of contexts, keyed as in the log.")
]
ActionsOption = Annotated[
    Path | None, typer.Option("--actions", metavar="FILE", help="What is known of actions, keyed as in the log.")
]
PropensityOption = Annotated[
    str | None, typer.Option("--propensity", metavar="COLUMN", help="The logged probability of what was shown.")
]
UntilOption = Annotated[
    str | None, typer.Option("--train-until", metavar="TIME", help="Export the events before this time only.")
]
FractionOption = Annotated[
    float | None, typer.Option("--train-fraction", metavar="F", help="Export the first F of the events only.")
]

EXAMPLES = """
\b
Examples:
  warmstart export log.parquet --context page --action ad --reward click --to vw-cb --tau 0.05 --out train.vw
  warmstart export log.parquet --context page --action ad --reward click --time shown_at --train-fraction 0.65 \\
      --contexts pages.parquet --actions ads.parquet --to vw-adf --tau 0.05 --out train.vw
"""


def export(
    *,
    events: EventsArgument = None,
    context: ContextOption,
    action: ActionOption,
    reward: RewardOption,
    to: ToOption,
    tau: TauOption,
    out: OutOption,
    contexts: ContextsOption = None,
    actions: ActionsOption = None,
    time: TimeOption = None,
    propensity: PropensityOption = None,
    train_until: UntilOption = None,
    train_fraction: FractionOption = None,
    table: TableOption = None,
    reward_range: RewardRangeOption = (0.0, 1.0),
    drop_nulls: DropNullsOption = False,
    engine: EngineOption = "duckdb",
    memory_limit: MemoryOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Write events with weights 1 / max(propensity, tau) for another learner: the paper's step 2."""
    from dataclasses import asdict

    from rich.console import Console

    from warmstart.engine import connect
    from warmstart.events import read_events
    from warmstart.interop import export as write
    from warmstart.report import Working

    if not events and table is None:
        raise UsageError("Name the log: files, or --table NAME.")
    if train_until is not None and train_fraction is not None:
        raise UsageError("--train-until and --train-fraction exclude each other.")
    check_folder(out)
    held = connect(engine, memory_limit=memory_limit, threads=threads)
    with Working(Console(stderr=True), held) as work:
        log = read_events(
            events,
            context=context,
            action=action,
            reward=reward,
            time=time,
            propensity=propensity,
            table=table,
            reward_range=reward_range,
            drop_nulls=drop_nulls,
            engine=held,
        )
        if train_until is not None:
            log, _ = log.split(at=train_until)
        if train_fraction is not None:
            log, _ = log.split(fraction=train_fraction)
        work.step("writing")
        found = write(log, out, to=cast("Any", to), tau=tau, contexts=contexts, actions=actions)
    if json:
        typer.echo(dumps({**asdict(found), "path": str(found.path)}, indent=2))
        return
    for note in found.notes():
        typer.echo(note)


export.__doc__ = f"{export.__doc__}\n{EXAMPLES}"
