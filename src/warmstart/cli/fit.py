"""warmstart fit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import AUTO, LOSSES, PASSES
from warmstart.cli.options import Only, Without, command, option, parse_tau
from warmstart.pipeline import EngineSettings, LogSettings, WindowSettings

EXAMPLES = """
  warmstart fit log.parquet --context page --action ad --reward click --time shown_at \\
      --contexts pages.parquet --actions ads.parquet --train-fraction 0.65 --out policy
  warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at \\
      --test-fraction 0.35 --policy policy --policy logging --tau 0.05
"""

FitTauOption = Annotated[
    str,
    option("--fit-tau", "TAU", "Weights 1/max(propensity, TAU): auto, 1 (none), or less.", words=AUTO),
]
LearnFromOption = Annotated[str, option("--learn-from", "NAME", "cells, or events (the paper's).", words=PASSES)]
CrossOption = Annotated[bool, option("--cross-only", None, "The paper's pure product: no ids, no constants.")]
RateOption = Annotated[list[float] | None, option("--rate", "R", "A learning rate. May be repeated: the best is kept.")]
LearnThreadsOption = Annotated[
    int | None,
    option("--learn-threads", "N", "Threads that share one table of weights: quicker, less repeatable.", min=1),
]


@command(EXAMPLES)
def fit(
    *,
    log: Annotated[LogSettings, Without("propensity")],
    out: Annotated[Path, option("--out", "DIR", "A new folder for the policy.")],
    windows: Annotated[WindowSettings, Only("train_until", "train_fraction")],
    contexts: Annotated[Path | None, option("--contexts", "FILE", "Features of contexts, keyed as in the log.")] = None,
    actions: Annotated[Path | None, option("--actions", "FILE", "Features of actions, keyed as in the log.")] = None,
    fit_tau: FitTauOption = "auto",
    learn_from: LearnFromOption = "cells",
    loss: Annotated[str, option("--loss", "NAME", "squared (the paper's) or logistic.", words=LOSSES)] = "squared",
    rate: RateOption = None,
    cross_only: CrossOption = False,
    weight_bits: Annotated[int, option("--weight-bits", "B", "2^B weights.")] = 24,
    min_events: Annotated[int, option("--min-events", "K", "Feasible from K events on.")] = 1,
    min_propensity: Annotated[float, option("--min-propensity", "P", "Feasible from P on.")] = 0.0,
    strict: Annotated[bool, option("--strict", None, "Refuse contexts or actions without a row of features.")] = False,
    seed: Annotated[int, option("--seed", None, "Of the order in which cells are learned.")] = 0,
    learn_threads: LearnThreadsOption = None,
    engine: EngineSettings,
) -> None:
    """Learn the best policy that a log supports (off-policy learning), and write it into a folder."""
    from rich.console import Console

    from warmstart import pipeline
    from warmstart.core import check_output, printable
    from warmstart.policy import save_policy
    from warmstart.report import ProgressDisplay

    check_output(out, inputs=[log.events, contexts, actions], folder=True)
    connected = engine.connect()
    with ProgressDisplay(Console(stderr=True), connected) as progress:
        policy = pipeline.fit(
            pipeline.training_window(
                log.open(connected), train_until=windows.train_until, train_fraction=windows.train_fraction
            ),
            contexts=contexts,
            actions=actions,
            fit_tau=parse_tau("--fit-tau", fit_tau),
            learn_from=cast("Any", learn_from),
            loss=cast("Any", loss),
            rates=rate or None,
            cross_only=cross_only,
            weight_bits=weight_bits,
            min_events=min_events,
            min_propensity=min_propensity,
            strict=strict,
            seed=seed,
            threads=learn_threads,
            on_progress=progress,
        )
        save_policy(policy, out)
    for line in policy.summary():
        typer.echo(line)
    typer.echo(f"The policy is in {printable(out)}/")
