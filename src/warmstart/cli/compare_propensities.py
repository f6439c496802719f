"""warmstart compare-propensities"""

from __future__ import annotations

from typing import Annotated

import typer

from warmstart.cli.completion import SOURCES
from warmstart.cli.options import JsonOption, Without, command
from warmstart.pipeline import EngineSettings, LogSettings


@command(source=SOURCES)
def compare_propensities(
    *,
    log: Annotated[LogSettings, Without("also", "minimize")],
    source: list[str] | None = None,
    coarser: list[str] | None = None,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Rank sources of propensities (pscores) by held-out log-loss, with calibration, mean weight and balance.

    Options:
        source (NAME): A source: counts, back-off, model, mixture, logged; to compare with, shares (an action's share of
            all events) and uniform. May be repeated.  [default: all that the log allows]
        coarser (C1,C2): A coarser context for back-off: some of the context columns. May be repeated, most specific
            first.

    Examples:
        warmstart compare-propensities log.parquet --context age --context city --action ad --reward click \
            --time shown_at
        warmstart compare-propensities log.parquet --context age --context city --action ad --reward click \
            --time shown_at --epoch week --source mixture --source back-off --coarser city --json
    """
    from warmstart import pipeline
    from warmstart.report import ProgressDisplay, show

    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        result = pipeline.compare_propensities(
            log.open(connected),
            source,
            coarser=[level.split(",") for level in coarser or ()],
            on_progress=progress,
        )
    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, result.notes)
