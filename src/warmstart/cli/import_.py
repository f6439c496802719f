"""warmstart import vw, predictions, litellm, langfuse and otel"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from warmstart.cli.completion import IMPORTS, MODEL_NAMES, PROMPTS, SCORES
from warmstart.cli.options import ForceOption, JsonOption, StrictCommand, command
from warmstart.core import UsageError

HELP = "Bring in other tools' logs, and what their policies would choose."
LogsAndFolder = Annotated[list[Path], typer.Argument(metavar="FILE... OUT", help="Logs, then a new folder.")]
CALLS_HELP = """Turn {what} into events whose action is the model, and scores to join.

    Answers from a cache, failed calls, fallbacks and what answers no prompt are left out and counted.

    Options:
        prompts (NAME): What to store of prompts: none, a hash that equal ones share, or the text too.{model}
        skip_malformed: Count lines that cannot be read, and go on.

    Examples:
        {example}
"""
MODEL_HELP = """
        model (NAME): The action: the model of the request or of the response; auto: the request's, but the response's
            where several models answered to one name, such as a router's."""
# For each format what it reads, and an example.
CALLS = {
    "litellm": ("LiteLLM's spend logs (JSON lines)", "warmstart import litellm spend.jsonl spend"),
    "langfuse": (
        "Langfuse's observations and scores (JSON lines)",
        "warmstart import langfuse observations.jsonl.gz scores.jsonl.gz traced --prompts hash",
    ),
    "otel": (
        "OpenTelemetry's traces and logs (OTLP JSON lines, GenAI conventions)",
        "warmstart import otel traces.jsonl logs.jsonl telemetry --skip-malformed",
    ),
}
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


def _divided(files: list[Path], format_: str) -> tuple[list[Path], Path]:
    """Return the logs, and the folder that is named behind them."""
    if len(files) < 2:
        raise UsageError(f"Name the logs and then a new folder: warmstart import {format_} FILE... OUT.")
    return files[:-1], files[-1]


@app.command("vw", cls=StrictCommand)
@command(format_=IMPORTS)
def vw(
    files: LogsAndFolder,
    format_: str = "auto",
    cost_range: tuple[float, float] | None = None,
    choice_first: bool = False,
    from_export: bool = False,
    skip_malformed: bool = False,
    json: JsonOption = False,
) -> None:
    """Turn Vowpal Wabbit's logs (text, dsjson, gzipped too) into events, contexts and actions.

    Options:
        format_ (NAME): cb, cb_adf, dsjson, json, or auto: told by the first lines.
        cost_range (LO HI): The costs that are rewards of 1 and of 0.
        choice_first: Every --cb line begins with a policy's choice, as for vw --eval.
        from_export: warmstart export wrote it: take its keys, undo its escapes.
        skip_malformed: Count lines that cannot be read, and go on.

    Examples:
        warmstart import vw train.dat imported
        warmstart import vw 2026-10-*.json.gz october --cost-range -1 0
    """
    from json import dumps

    from warmstart.core import printable
    from warmstart.interop import import_vw
    from warmstart.report import ProgressDisplay

    sources, out = _divided(files, "vw")
    with ProgressDisplay() as progress:
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
    typer.echo("\n".join(result.notes))
    time = " --time time" if result.about["times"] == result.about["events"] else ""
    columns = f"--context context --action action --reward reward{time}"
    typer.echo(f"Next: warmstart audit {printable(result.events)} {columns}")


@app.command("predictions", cls=StrictCommand)
@command(scores=SCORES)
def predictions(
    predictions: Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="What vw -t -p wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A Parquet file of decisions.")],
    contexts: Path,
    scores: str | None = None,
    first_number: int | None = None,
    force: ForceOption = False,
) -> None:
    """Turn what Vowpal Wabbit would choose for exported contexts into decisions that evaluate takes.

    Options:
        contexts (FILE): The file that export wrote; its keys lie beside it.
        scores (NAME): What number:score lists hold: costs or probabilities.
        first_number (N): The first action's number, 0 or 1, if not clear.

    Examples:
        warmstart export log.parquet --context page --action ad --reward click --to vw-cb --tau 0.05 --out train.vw
        vw -t -i model.vw train.contexts.vw -p predictions.txt
        warmstart import predictions predictions.txt vw.parquet --contexts train.vw
        warmstart evaluate log.parquet --context page --action ad --reward click --policy vw.parquet
    """
    from warmstart.interop import import_predictions

    numbers: dict[str, Any] = {"scores": scores, "first_number": first_number}
    typer.echo("\n".join(import_predictions(predictions, contexts, out, **numbers, force=force).notes))


def _import(format_: str, files: list[Path], *, json: bool, **options: Any) -> None:
    """Import calls, and say what came of it."""
    from warmstart.core import printable
    from warmstart.interop import import_calls
    from warmstart.report import ProgressDisplay

    sources, out = _divided(files, format_)
    with ProgressDisplay() as progress:
        result = import_calls(sources, out, format=cast("Any", format_), **options, on_progress=progress)
    if json:
        typer.echo(result.to_json())
        return
    typer.echo(f"{printable(out)}/ holds events.parquet, about.json{', scores/' if result.scores else ''}")
    typer.echo("\n".join(result.notes))
    typer.echo(f"Next: {result.next_command}")


def _calls_command(format_: str, what: str, example: str) -> Callable[..., None]:
    """Return the command that imports the calls of a format."""

    def calls(
        files: LogsAndFolder, prompts: str = "none", skip_malformed: bool = False, json: JsonOption = False
    ) -> None:
        _import(format_, files, json=json, prompts=prompts, skip_malformed=skip_malformed)

    def calls_with_two_models(
        files: LogsAndFolder,
        prompts: str = "none",
        model: str = "auto",
        skip_malformed: bool = False,
        json: JsonOption = False,
    ) -> None:
        _import(format_, files, json=json, prompts=prompts, model=model, skip_malformed=skip_malformed)

    both = format_ == "otel"
    function: Callable[..., None] = calls_with_two_models if both else calls
    function.__doc__ = CALLS_HELP.format(what=what, example=example, model=MODEL_HELP if both else "")
    return command(prompts=PROMPTS, **({"model": MODEL_NAMES} if both else {}))(function)


for name, (what, example) in CALLS.items():
    app.command(name, cls=StrictCommand)(_calls_command(name, what, example))
