"""warmstart monitor"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import POLICIES
from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, Without, command
from warmstart.cli.pages import check_paths, policy_paths
from warmstart.pipeline import AUTO, EngineSettings, LogSettings, parse_tau


@command(policy=POLICIES, tau=AUTO)
def monitor(
    *,
    log: Annotated[LogSettings, Without("propensity", "event_id", "also", "minimize")],
    policy: list[str],
    out: Path,
    since: str | None = None,
    until: str | None = None,
    tau: str = "auto",
    delta: float = 0.05,
    trained_until: list[str] | None = None,
    allow_unknown_actions: bool = False,
    no_live: bool = False,
    html: HtmlOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Follow policies on a growing log (a folder of daily files): one line an epoch, bounds valid at every look.

    Run it as often as you like: epochs that were reported are not valued again. Rows that come late for a reported
    epoch are counted and left out. A policy that is added later begins with the next epoch and its own share of delta.

    Options:
        policy ([NAME=]P): The policy to follow, as for evaluate. May be repeated. Name it in every look.
        out (FILE): The file of lines (JSON), begun if it is not there.
        since (TIME): Follow policies from the first epoch that begins then or later; earlier events are for training.
        until (TIME): What time it is: epochs that end later are not over. Without it, the log's last epoch is not.
        tau (TAU): The floor of the propensity (clipping constant), in (0, 1], or auto.
        delta: How often a monitor may ever report a bound that misses, for all policies and looks together.
        trained_until ([NAME=]T|never): When decisions were fitted on rewards of the log last, as for evaluate.
        allow_unknown_actions: Let decisions name actions that the log never shows; they count as unsupported.
        no_live: Let policies choose actions that were not shown in the epoch.

    Examples:
        warmstart monitor log.parquet --context page --action ad --reward click --time shown_at --epoch day \
            --policy uniform --policy always=constant:a --out monitor.jsonl
        warmstart monitor log.parquet --context page --action ad --reward click --time shown_at --epoch week \
            --policy uniform --out weekly.jsonl --until 2026-10-26 --json
    """
    from warmstart import pipeline
    from warmstart.policy import parse_policies
    from warmstart.report import ProgressDisplay, save_report, show

    check_paths(out, policy, [log.events], force=False)
    check_paths(html, policy, [log.events], force=force, other=out)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        events = log.open(connected)
        named = parse_policies(policy)
        result = pipeline.monitor(
            named,
            events,
            out,
            since=since,
            until=until,
            tau=parse_tau("--tau", tau),
            delta=delta,
            live=not no_live,
            trained_until=pipeline.parse_trained_until(trained_until or (), named),
            allow_unknown_actions=allow_unknown_actions,
            inputs=[log.events, policy_paths(policy)],
            on_progress=progress,
        )
    if html is not None:
        save_report(result, html, force=force)
    if json:
        typer.echo(dumps(result.to_dict(), indent=2, allow_nan=False))
    else:
        show(result.tables, result.notes, result.headline)
