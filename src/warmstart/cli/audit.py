"""warmstart audit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, Without, command
from warmstart.cli.pages import check_paths
from warmstart.core import UsageError
from warmstart.pipeline import EngineSettings, LogSettings


@command()
def audit(
    *,
    log: Annotated[LogSettings, Without("propensity", "epoch", "also", "minimize")],
    html: HtmlOption = None,
    explore_out: Path | None = None,
    name_texts: bool = False,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Tell what a log can say about other policies (overlap, drift, power), and where to explore first.

    Options:
        explore_out (FILE): Write the contexts to explore first (.csv or .parquet).
        name_texts: Also name contexts that are free text, such as prompts; else they are numbered.

    Examples:
        warmstart audit log.parquet --context page --action ad --reward click --time shown_at
        warmstart audit 'log/*.csv' --context page --action ad --reward click --time shown_at \
            --html audit.html --explore-out contexts.csv
        warmstart audit postgres://reader@host/shop --table ads.shown \
            --context page --action ad --reward click --time shown_at
    """
    from warmstart import pipeline
    from warmstart.core import write_table
    from warmstart.report import ProgressDisplay, save_report, show

    if explore_out is not None and explore_out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--explore-out writes .csv or .parquet, not '{explore_out.suffix}'.")
    for out, other in ((html, explore_out), (explore_out, html)):
        check_paths(out, [], [log.events], force=force, other=other)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        result = pipeline.audit(log.open(connected), name_texts=name_texts, on_progress=progress)
    if html is not None:
        save_report(result, html, force=force)
    if explore_out is not None:
        write_table(explore_out, result.explore.to_arrow(), force=force)
    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, result.notes, result.headline)
