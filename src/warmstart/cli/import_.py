"""warmstart import vw, warmstart import predictions"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import IMPORTS, SCORES
from warmstart.cli.options import ForceOption, JsonOption, StrictCommand, command, option

app = typer.Typer(
    help="Bring in other tools' logs, and what their policies would choose.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FORMAT = "cb, cb_adf, dsjson, json, or auto: told by the first lines."
FormatOption = Annotated[str, option("--format", "NAME", FORMAT, words=IMPORTS)]
RangeOption = Annotated[
    tuple[float, float] | None, option("--cost-range", "LO HI", "The costs that are rewards of 1 and of 0.")
]
ChoiceOption = Annotated[
    bool, option("--choice-first", None, "Every --cb line begins with a policy's choice, as for vw --eval.")
]
FromExportOption = Annotated[
    bool, option("--from-export", None, "warmstart export wrote it: take its keys, undo its escapes.")
]
SkipOption = Annotated[bool, option("--skip-malformed", None, "Count lines that cannot be read, and go on.")]
ExportedOption = Annotated[Path, option("--contexts", "FILE", "The file that export wrote; its keys lie beside it.")]
ScoresOption = Annotated[
    str | None, option("--scores", "NAME", "What number:score lists hold: costs or probabilities.", words=SCORES)
]
FirstOption = Annotated[int | None, option("--first-number", "N", "The first action's number, 0 or 1, if not clear.")]

EXAMPLES = """
  warmstart import vw train.dat imported
  warmstart import vw 2026-10-*.json.gz october --cost-range -1 0
"""

PREDICTIONS_EXAMPLES = """
  warmstart export log.parquet --context page --action ad --reward click --to vw-cb --tau 0.05 --out train.vw
  vw -t -i model.vw train.contexts.vw -p predictions.txt
  warmstart import predictions predictions.txt vw.parquet --contexts train.vw
  warmstart evaluate log.parquet --context page --action ad --reward click --policy vw.parquet
"""


@app.command("vw", cls=StrictCommand)
@command(EXAMPLES)
def vw(
    files: Annotated[list[Path], typer.Argument(metavar="FILE... OUT", help="Logs, then a new folder.")],
    format_: FormatOption = "auto",
    cost_range: RangeOption = None,
    choice_first: ChoiceOption = False,
    from_export: FromExportOption = False,
    skip_malformed: SkipOption = False,
    json: JsonOption = False,
) -> None:
    """Turn Vowpal Wabbit's logs (text, dsjson, gzipped too) into events, contexts and actions."""
    from rich.console import Console

    from warmstart.core import UsageError, printable
    from warmstart.interop import import_vw
    from warmstart.report import ProgressDisplay

    if len(files) < 2:
        raise UsageError("Name the logs and then a new folder: warmstart import vw FILE... OUT.")
    *sources, out = files
    with ProgressDisplay(Console(stderr=True)) as progress:
        result = import_vw(
            sources,
            out,
            format=cast("Any", format_),
            cost_range=cost_range,
            choice_first=choice_first,
            from_export=from_export,
            skip_malformed=skip_malformed,
            on_progress=progress,
        )
    if json:
        typer.echo(dumps(result.about, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{printable(out)}/ holds events.parquet, contexts.parquet, actions.parquet, about.json")
    for note in result.notes:
        typer.echo(note)
    typer.echo(
        f"Next: warmstart audit {printable(result.events)} --context context --action action --reward reward"
        + (" --time time" if result.about["times"] == result.about["events"] else "")
    )


@app.command("predictions", cls=StrictCommand)
@command(PREDICTIONS_EXAMPLES)
def predictions(
    predictions: Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="What vw -t -p wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A Parquet file of decisions.")],
    contexts: ExportedOption,
    scores: ScoresOption = None,
    first_number: FirstOption = None,
    force: ForceOption = False,
) -> None:
    """Turn what Vowpal Wabbit would choose for exported contexts into decisions that evaluate takes."""
    from warmstart.interop import import_predictions

    result = import_predictions(
        predictions, contexts, out, scores=cast("Any", scores), first_number=cast("Any", first_number), force=force
    )
    for note in result.notes:
        typer.echo(note)
