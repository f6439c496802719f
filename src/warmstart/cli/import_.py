"""warmstart import vw, warmstart import predictions"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import IMPORTS, SCORES, one_of
from warmstart.cli.options import JsonOption

app = typer.Typer(
    help="Bring in other tools' logs, and what their policies would choose.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FilesArgument = Annotated[list[Path], typer.Argument(metavar="FILE... OUT", help="Logs, then a new folder.")]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        autocompletion=one_of(IMPORTS),
        metavar="NAME",
        help="cb, cb_adf, dsjson, json, or auto: told by the first lines.",
    ),
]
CostRangeOption = Annotated[
    tuple[float, float] | None,
    typer.Option("--cost-range", metavar="LO HI", help="The costs that are rewards of 1 and of 0."),
]
ChoiceOption = Annotated[
    bool, typer.Option("--choice-first", help="Every --cb line begins with a policy's choice, as for vw --eval.")
]
FromExportOption = Annotated[
    bool, typer.Option("--from-export", help="warmstart export wrote it: take its keys, undo its escapes.")
]
SkipOption = Annotated[bool, typer.Option("--skip-malformed", help="Count lines that cannot be read, and go on.")]

PredictionsArgument = Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="What vw -t -p wrote.")]
DecisionsArgument = Annotated[Path, typer.Argument(metavar="OUT", help="A Parquet file of decisions.")]
ExportedOption = Annotated[
    Path, typer.Option("--contexts", metavar="FILE", help="The file that export wrote; its keys lie beside it.")
]
ScoresOption = Annotated[
    str | None,
    typer.Option(
        "--scores",
        autocompletion=one_of(SCORES),
        metavar="NAME",
        help="What number:score lists hold: costs or probabilities.",
    ),
]
FirstOption = Annotated[
    int | None, typer.Option("--first-number", metavar="N", help="The first action's number, 0 or 1, if not clear.")
]

EXAMPLES = """
\b
Examples:
  warmstart import vw train.dat imported
  warmstart import vw 2026-10-*.json.gz october --cost-range -1 0
"""

PREDICTIONS_EXAMPLES = """
\b
Examples:
  warmstart export log.parquet --context page --action ad --reward click --to vw-cb --tau 0.05 --out train.vw
  vw -t -i model.vw train.contexts.vw -p predictions.txt
  warmstart import predictions predictions.txt vw.parquet --contexts train.vw
  warmstart evaluate log.parquet --context page --action ad --reward click --policy vw.parquet
"""


@app.command("vw")
def vw(
    files: FilesArgument,
    format_: FormatOption = "auto",
    cost_range: CostRangeOption = None,
    choice_first: ChoiceOption = False,
    from_export: FromExportOption = False,
    skip_malformed: SkipOption = False,
    json: JsonOption = False,
) -> None:
    """Turn Vowpal Wabbit's logs (text, dsjson, gzipped too) into events, contexts and actions."""
    from rich.console import Console

    from warmstart.core.errors import UsageError
    from warmstart.core.text import printable
    from warmstart.interop import import_vw
    from warmstart.report import Share

    if len(files) < 2:
        raise UsageError("Name the logs and then a new folder: warmstart import vw FILE... OUT.")
    *sources, out = files
    with Share(Console(stderr=True)) as share:
        found = import_vw(
            sources,
            out,
            format=cast("Any", format_),
            cost_range=cost_range,
            choice_first=choice_first,
            from_export=from_export,
            skip_malformed=skip_malformed,
            on_progress=share.report,
        )
    if json:
        typer.echo(dumps(found.about, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{printable(out)}/ holds events.parquet, contexts.parquet, actions.parquet, about.json")
    for note in found.notes():
        typer.echo(note)
    typer.echo(
        f"Next: warmstart audit {printable(found.events)} --context context --action action --reward reward"
        + (" --time time" if found.about["times"] == found.about["events"] else "")
    )


@app.command("predictions")
def predictions(
    predictions: PredictionsArgument,
    out: DecisionsArgument,
    contexts: ExportedOption,
    scores: ScoresOption = None,
    first_number: FirstOption = None,
) -> None:
    """Turn what Vowpal Wabbit would choose for exported contexts into decisions that evaluate takes."""
    from warmstart.interop import import_predictions

    found = import_predictions(
        predictions, contexts, out, scores=cast("Any", scores), first_number=cast("Any", first_number)
    )
    for note in found.notes():
        typer.echo(note)


vw.__doc__ = f"{vw.__doc__}\n{EXAMPLES}"
predictions.__doc__ = f"{predictions.__doc__}\n{PREDICTIONS_EXAMPLES}"
