"""warmstart export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import EXPORTS
from warmstart.cli.options import ForceOption, JsonOption, Only, Without, command
from warmstart.pipeline import EngineSettings, LogSettings, WindowSettings


@command(to=EXPORTS)
def export(
    *,
    log: Annotated[LogSettings, Without("epoch", "also", "minimize")],
    to: str,
    tau: float,
    out: Path,
    windows: Annotated[WindowSettings, Only("train_until", "train_fraction")],
    contexts: Path | None = None,
    actions: Path | None = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Write events with importance weights 1 / max(propensity, tau) for another learner: the paper's step 2.

    Options:
        to (FORMAT): vw-cb, vw-adf, dsjson or parquet.
        tau (TAU): The floor of the propensity, in (0, 1].
        out (FILE): The file to write.
        contexts (FILE): Features of contexts, keyed as in the log.
        actions (FILE): Features of actions, keyed as in the log.

    Examples:
        warmstart export log.parquet --context page --action ad --reward click --to vw-cb --tau 0.05 --out train.vw
        warmstart export log.parquet --context page --action ad --reward click --time shown_at --train-fraction 0.65 \
            --contexts pages.parquet --actions ads.parquet --to vw-adf --tau 0.05 --out adf.vw
    """
    from dataclasses import asdict
    from json import dumps

    from warmstart.interop import export as write
    from warmstart.pipeline import training_window
    from warmstart.report import ProgressDisplay

    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        events = training_window(
            log.open(connected), train_until=windows.train_until, train_fraction=windows.train_fraction
        )
        progress("writing")
        result = write(events, out, to=cast("Any", to), tau=tau, contexts=contexts, actions=actions, force=force)
    if json:
        typer.echo(dumps({**asdict(result), "path": str(result.path)}, indent=2))
    else:
        typer.echo("\n".join(result.notes))
