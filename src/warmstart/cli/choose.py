"""warmstart choose"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.options import JsonOption
from warmstart.core.errors import UsageError

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="What fit wrote.", show_default=False)]
ContextsOption = Annotated[
    Path, typer.Option("--contexts", metavar="FILE", help="Contexts, with the features that the policy learned from.")
]
ActionsOption = Annotated[
    Path | None,
    typer.Option("--actions", metavar="FILE", help="The actions to choose among; all known ones if absent."),
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a Parquet file instead.")]
ExploreOption = Annotated[
    float | None,
    typer.Option(
        "--explore",
        metavar="EPSILON",
        help="Draw any of the actions with this probability, else the best, and say with which probability each was "
        "drawn: log that.",
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="N", help="Of the draws; a new one if absent.")]

EXAMPLES = """
\b
Examples:
  warmstart choose policy --contexts new-pages.parquet --json
  warmstart choose policy --contexts new-pages.parquet --actions todays-ads.csv --out decisions.parquet
  warmstart choose policy --contexts new-pages.parquet --explore 0.05 --seed 7 --out shown-today.parquet
"""


def choose(
    folder: FolderArgument,
    contexts: ContextsOption,
    actions: ActionsOption = None,
    explore: ExploreOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Choose for contexts that need not be in the log, among actions that were."""
    import json as json_
    from secrets import randbits

    import numpy as np
    import pyarrow.parquet as pq
    from rich.console import Console

    from warmstart.core.files import atomic_file
    from warmstart.engine import connect, open_whole
    from warmstart.policy import load_policy
    from warmstart.report import show
    from warmstart.results import TextTable

    if seed is not None and (explore is None or seed < 0):
        raise UsageError("--seed is a number from 0 on, of the draws of --explore.")
    policy = load_policy(folder)
    engine = connect()
    given = open_whole(engine, contexts)
    allowed = None if actions is None else open_whole(engine, actions)
    if explore is not None and seed is None:
        seed = randbits(32)
        typer.echo(f"Drawn with --seed {seed}.", err=True)
    chosen = policy.choose_table(given, allowed, explore=explore, rng=np.random.default_rng(seed))
    if out is not None:
        with atomic_file(out) as path:
            pq.write_table(chosen, path)
    elif json:
        about = {} if explore is None else {"explore": explore, "seed": seed}
        typer.echo(json_.dumps({**about, "decisions": chosen.to_pylist()}, default=str))
    else:
        numbers = 1 if explore is None else 2
        rows = [tuple(str(value) for value in row.values()) for row in chosen.to_pylist()]
        show(Console(), [TextTable("Chosen", tuple(chosen.column_names), rows, left=chosen.num_columns - numbers)], [])


choose.__doc__ = f"{choose.__doc__}\n{EXAMPLES}"
