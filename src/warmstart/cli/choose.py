"""warmstart choose"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.options import JsonOption

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="What fit wrote.", show_default=False)]
ContextsOption = Annotated[
    Path, typer.Option("--contexts", metavar="FILE", help="Contexts, with the features that the policy learned from.")
]
ActionsOption = Annotated[
    Path | None,
    typer.Option("--actions", metavar="FILE", help="The actions to choose among; all known ones if absent."),
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a Parquet file instead.")]

EXAMPLES = """
\b
Examples:
  warmstart choose policy --contexts new-pages.parquet --json
  warmstart choose policy --contexts new-pages.parquet --actions todays-ads.csv --out decisions.parquet
"""


def choose(
    folder: FolderArgument,
    contexts: ContextsOption,
    actions: ActionsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Choose for contexts that need not be in the log, among actions that were."""
    import json as json_

    import pyarrow.parquet as pq
    from rich.console import Console

    from warmstart.core.files import whole_file
    from warmstart.core.tables import TextTable
    from warmstart.engine import connect, open_whole
    from warmstart.policy import load_policy
    from warmstart.report import show

    policy = load_policy(folder)
    engine = connect()
    given = open_whole(engine, contexts)
    allowed = None if actions is None else open_whole(engine, actions)
    chosen = policy.choose_table(given, allowed)
    if out is not None:
        with whole_file(out) as path:
            pq.write_table(chosen, path)
    elif json:
        typer.echo(json_.dumps({"decisions": chosen.to_pylist()}, default=str))
    else:
        rows = [tuple(str(value) for value in row.values()) for row in chosen.to_pylist()]
        show(Console(), [TextTable("Chosen", tuple(chosen.column_names), rows, left=chosen.num_columns - 1)], [])


choose.__doc__ = f"{choose.__doc__}\n{EXAMPLES}"
