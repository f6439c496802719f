"""warmstart compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.options import JsonOption, command

OldArgument = Annotated[Path, typer.Argument(metavar="OLD", help="An evaluation, as JSON.", show_default=False)]
NewArgument = Annotated[Path, typer.Argument(metavar="NEW", help="A later evaluation.", show_default=False)]


@command()
def compare(old: OldArgument, new: NewArgument, json: JsonOption = False) -> None:
    r"""Say what changed from one evaluation to another, and whether that is more than chance.

    Evaluations are what evaluate --json printed, check --out or save wrote. Of the same events all differences are due
    to settings.

    Examples:
        warmstart check log.parquet --context page --action ad --reward click --time shown_at --test-from 2026-10-11 \
            --policy uniform --min-events 1 --out new.json
        warmstart check log.parquet --context page --action ad --reward click --time shown_at --test-fraction 0.9 \
            --policy uniform --min-events 1 --out old.json
        warmstart compare old.json new.json
        warmstart compare old.json new.json --json
    """
    from warmstart import results
    from warmstart.report import show

    result = results.compare(*(results.load_result(path) for path in (old, new)))  # type: ignore[arg-type]
    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, result.notes, result.headline)
