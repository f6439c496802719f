"""warmstart check"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import POLICIES
from warmstart.cli.evaluate import open_guarded
from warmstart.cli.options import ForceOption, JsonOption, Only, command
from warmstart.cli.pages import check_paths
from warmstart.pipeline import CheckSettings, EngineSettings, EvaluateSettings, LogSettings, WindowSettings

NOT_MET = 3


@command(policy=POLICIES)
def check(
    *,
    log: LogSettings,
    policy: list[str] | None = None,
    windows: Annotated[WindowSettings, Only("test_from", "test_fraction")],
    settings: EvaluateSettings,
    conditions: CheckSettings,
    junit: Path | None = None,
    markdown: Path | None = None,
    out: Path | None = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Evaluate as warmstart.toml says and exit with 3, and one line why, if a condition is not met.

    For a pipeline: conditions are those under [check], or options. All of them must be met. Exit codes: 0 they are, 1
    something in the data, 2 wrong command, 3 they are not.

    Options:
        policy ([NAME=]P): The target policy, as for evaluate. May be repeated.
        junit (FILE): Write the conditions as test cases (.xml).
        markdown (FILE): Write a summary (.md, or the file that a build server names).
        out (FILE): Write the evaluation: .json, which compare reads, or a page (.html).

    Examples:
        warmstart check log.parquet --context page --action ad --reward click --policy uniform --min-events 1000
        warmstart check log.parquet --context page --context hour --action ad --reward click --also cost \
            --minimize cost --range cost=0:0.02 --policy new=decisions.csv --trained-until never \
            --verdict cannot-tell --no-keep-guards --support 0.1 --junit check.xml --markdown check.md \
            --out evaluation.json
    """
    from dataclasses import asdict

    from warmstart import pipeline
    from warmstart.core import UsageError, write_output
    from warmstart.policy import parse_policies
    from warmstart.report import ProgressDisplay, show

    if not policy:
        raise UsageError("Name a policy (--policy), or name one under [policies] in warmstart.toml.")
    outputs = [one for one in (junit, markdown, out) if one is not None]
    for one in outputs:
        for other in outputs:
            check_paths(
                one, policy, [log.events, settings.contexts], force=force, other=None if other is one else other
            )
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        events = settings.window(open_guarded(log, connected, settings.guards, settings.utility))
        named = parse_policies(policy)
        train, evaluated = pipeline.evaluation_windows(
            events, named, test_from=windows.test_from, test_fraction=windows.test_fraction
        )
        result = pipeline.evaluate(named, evaluated, train=train, on_progress=progress, **settings.arguments(named))
    asked = asdict(conditions)
    asked |= {name: asked[name] or () for name in ("verdict", "no_codes")}
    checked = pipeline.check(result, **asked)
    for path, text in ((junit, checked.to_junit()), (markdown, checked.to_markdown())):
        if path is not None:
            with write_output(path, force=force) as temporary:
                temporary.write_text(text, encoding="utf-8")
    if out is not None:
        result.save(out, force=force)
    if json:
        typer.echo(checked.to_json())
    else:
        show(checked.tables, checked.notes, checked.headline)
    if not checked.met:
        typer.echo(checked.why, err=True)
        raise typer.Exit(NOT_MET)
