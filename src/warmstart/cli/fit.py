"""warmstart fit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import AUTO, LOSSES, PASSES, one_of
from warmstart.cli.options import (
    ActionOption,
    ContextOption,
    DropNullsOption,
    EngineOption,
    EventsArgument,
    MemoryOption,
    RewardOption,
    RewardRangeOption,
    TableOption,
    TimeOption,
)
from warmstart.core.errors import UsageError

OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the policy.")]
ContextsOption = Annotated[
    Path | None,
    typer.Option("--contexts", metavar="FILE", help="What is known of contexts: the log's columns, features."),
]
ActionsOption = Annotated[
    Path | None, typer.Option("--actions", metavar="FILE", help="What is known of actions: the log's column, features.")
]
FitTauOption = Annotated[
    str,
    typer.Option(
        "--fit-tau",
        autocompletion=one_of(AUTO),
        metavar="TAU",
        help="Weights 1/max(propensity, TAU): auto, 1 (none), or less.",
    ),
]
PassOption = Annotated[
    str,
    typer.Option(
        "--pass", autocompletion=one_of(PASSES), metavar="NAME", help="Learn from cells, or events (the paper's)."
    ),
]
LossOption = Annotated[
    str,
    typer.Option("--loss", autocompletion=one_of(LOSSES), metavar="NAME", help="squared (the paper's) or logistic."),
]
RateOption = Annotated[
    list[float] | None, typer.Option("--rate", metavar="R", help="A learning rate. May be repeated: the best is kept.")
]
CrossOption = Annotated[bool, typer.Option("--cross-only", help="The paper's pure product: no ids, no constants.")]
BitsOption = Annotated[int, typer.Option("--weight-bits", metavar="B", help="2^B weights.")]
MinEventsOption = Annotated[int, typer.Option("--min-events", metavar="K", help="Feasible from K events on.")]
MinPropensityOption = Annotated[float, typer.Option("--min-propensity", metavar="P", help="Feasible from P on.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Refuse contexts or actions without a row of features.")]
UntilOption = Annotated[
    str | None, typer.Option("--train-until", metavar="TIME", help="Learn from events before TIME.")
]
FractionOption = Annotated[
    float | None, typer.Option("--train-fraction", metavar="F", help="Learn from the first F of the events.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the order in which cells are learned.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="Several share one table: quicker, less repeatable.")
]

EXAMPLES = """
\b
Examples:
  warmstart fit log.parquet --context page --action ad --reward click --time shown_at \\
      --contexts pages.parquet --actions ads.parquet --train-fraction 0.65 --out policy
  warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at \\
      --test-fraction 0.35 --policy policy --policy logging --tau 0.05
"""


def fit(
    *,
    events: EventsArgument = None,
    context: ContextOption,
    action: ActionOption,
    reward: RewardOption,
    out: OutOption,
    time: TimeOption = None,
    table: TableOption = None,
    contexts: ContextsOption = None,
    actions: ActionsOption = None,
    fit_tau: FitTauOption = "auto",
    learn_from: PassOption = "cells",
    loss: LossOption = "squared",
    rate: RateOption = None,
    cross_only: CrossOption = False,
    weight_bits: BitsOption = 24,
    min_events: MinEventsOption = 1,
    min_propensity: MinPropensityOption = 0.0,
    strict: StrictOption = False,
    train_until: UntilOption = None,
    train_fraction: FractionOption = None,
    seed: SeedOption = 0,
    reward_range: RewardRangeOption = (0.0, 1.0),
    drop_nulls: DropNullsOption = False,
    engine: EngineOption = "duckdb",
    memory_limit: MemoryOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Learn the best policy that a log supports, and write it into a folder."""
    from rich.console import Console

    from warmstart import pipeline
    from warmstart.core.text import printable
    from warmstart.engine import connect
    from warmstart.events import read_events
    from warmstart.policy import save_policy
    from warmstart.report import Share

    if not events and table is None:
        raise UsageError("Name the log: files, or --table NAME.")
    if out.exists():
        raise UsageError(f"{printable(out)} is already there.", "Name a new folder with --out.")
    if train_until is not None and train_fraction is not None:
        raise UsageError("--train-until and --train-fraction exclude each other.")
    with Share(Console(stderr=True)) as share:
        share.report("reading and checking", 0.0)
        log = read_events(
            events,
            context=context,
            action=action,
            reward=reward,
            time=time,
            table=table,
            reward_range=reward_range,
            drop_nulls=drop_nulls,
            engine=connect(engine, memory_limit=memory_limit, threads=None if engine == "duckdb" else threads),
        )
        if train_until is not None or train_fraction is not None:
            log, _ = log.split(at=train_until, fraction=train_fraction)
        policy = pipeline.fit(
            log,
            contexts=contexts,
            actions=actions,
            fit_tau=_tau(fit_tau),
            learn_from=cast("Any", learn_from),
            loss=cast("Any", loss),
            rates=rate or None,
            cross_only=cross_only,
            weight_bits=weight_bits,
            min_events=min_events,
            min_propensity=min_propensity,
            strict=strict,
            seed=seed,
            threads=threads,
            on_progress=share.report,
        )
        save_policy(policy, out)
    for line in policy.summary():
        typer.echo(line)
    typer.echo(f"The policy is in {printable(out)}/")


fit.__doc__ = f"{fit.__doc__}\n{EXAMPLES}"


def _tau(text: str) -> Any:
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--fit-tau must be auto or a number, and is {text!r}.") from None
