"""warmstart explain"""

from __future__ import annotations

from typing import Annotated

import typer

from warmstart.cli.completion import complete_code
from warmstart.cli.options import JsonOption, command

CodesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CODE]...",
        help="Codes such as WS104; all of them if none is given.",
        show_default=False,
        autocompletion=complete_code,
    ),
]


@command()
def explain(codes: CodesArgument = None, json: JsonOption = False) -> None:
    """Say what the code of a remark, an assumption or an error means, why it matters and what to do.

    Examples:
        warmstart explain
        warmstart explain WS104
        warmstart explain ws105 ws106 --json
    """
    from warmstart import results
    from warmstart.report import show

    result = results.explain(*(codes or ()))
    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, result.notes)
