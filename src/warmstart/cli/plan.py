"""warmstart plan"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import POLICIES
from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, Without, command
from warmstart.cli.pages import check_paths
from warmstart.core import UsageError
from warmstart.pipeline import AUTO, EngineSettings, LogSettings, parse_tau


@command(policy=POLICIES, tau=AUTO)
def plan(
    *,
    log: Annotated[LogSettings, Without("propensity", "also", "minimize")],
    policy: str,
    contexts: Path | None = None,
    gain: str | None = None,
    power: float = 0.8,
    share: float | None = None,
    coverage: float = 0.9,
    tau: str = "auto",
    delta: float = 0.05,
    allow_unknown_actions: bool = False,
    no_live: bool = False,
    name_texts: bool = False,
    out: Path | None = None,
    html: HtmlOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Say where to explore, with which share and for how long, until a policy is proven better than logging (power).

    Options:
        policy ([NAME=]P): The target policy, as evaluate takes it: one other than logging.
        contexts (FILE): Features of contexts, as evaluate takes them.
        gain (X|X%): The gain over logging to plan for: per event of all traffic, or relative to the mean reward. By
            default the best estimate of this log.
        power: The chance to prove the gain.
        share (S): The share of events that explore, in the contexts that need it. By default compared and chosen.
        coverage: The part of the policy's traffic to support; exploration goes to the busiest contexts first.
        tau (TAU): The floor of the propensity when the new events are evaluated, or auto.
        delta: How often a confidence interval may miss.
        allow_unknown_actions: Let decisions name actions that the log never shows.
        name_texts: Also name contexts that are free text, such as prompts; else they are numbered.
        no_live: Let policies choose actions on days not live.
        out (FILE): Write what to show in the contexts to explore in: context, action, probability (.csv or .parquet).

    Examples:
        warmstart plan log.parquet --context page --context hour --action ad --reward click --time shown_at \
            --policy new=decisions.csv --gain 5%
        warmstart plan log.parquet --context page --context hour --action ad --reward click --time shown_at \
            --policy new=decisions.csv --gain 0.05 --share 0.1 --power 0.9 --out explore.csv --html plan.html
        warmstart plan log.parquet --context page --action ad --reward click --unit customer --policy constant:a \
            --gain 0.1 --json
    """
    from warmstart import pipeline
    from warmstart.core import write_table
    from warmstart.report import ProgressDisplay, save_report, show

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out writes .csv or .parquet, not '{out.suffix}'.")
    clip = parse_tau("--tau", tau)
    for file, other in ((html, out), (out, html)):
        check_paths(file, [policy], [log.events, contexts], force=force, other=other)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        result = pipeline.plan(
            [policy],
            log.open(connected),
            gain=gain,
            power=power,
            share=share,
            coverage=coverage,
            tau=clip,
            delta=delta,
            live=not no_live,
            contexts=contexts,
            allow_unknown_actions=allow_unknown_actions,
            name_texts=name_texts,
            on_progress=progress,
        )
    if html is not None:
        save_report(result, html, force=force)
    if out is not None:
        write_table(out, result.table, force=force)
    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, result.notes, result.headline)
