"""warmstart choose"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.options import ForceOption, JsonOption, command
from warmstart.core import UsageError


@command()
def choose(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What fit wrote.", show_default=False)],
    contexts: Path,
    actions: Path | None = None,
    explore: float | None = None,
    seed: int | None = None,
    out: Path | None = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Choose for contexts that need not be in the log, among actions that were.

    Options:
        contexts (FILE): Contexts, with the features that the policy learned from.
        actions (FILE): The actions to choose among; all known ones if absent.
        explore (EPSILON): Draw any of the actions with this probability, else the best (epsilon-greedy), and say with
            which probability each was drawn: log that.
        seed (N): Of the draws; a new one if absent.
        out (FILE): Write a table (.parquet or .csv) instead.

    Examples:
        warmstart choose policy --contexts new-pages.parquet --json
        warmstart choose policy --contexts new-pages.parquet --actions todays-ads.csv --out decisions.parquet
        warmstart choose policy --contexts new-pages.parquet --explore 0.05 --seed 7 --out shown-today.parquet
    """
    import json as json_
    from secrets import randbits

    import numpy as np

    from warmstart.core import check_output, write_table
    from warmstart.engine import connect, open_whole
    from warmstart.policy import load_policy
    from warmstart.report import show
    from warmstart.results import TextTable

    if seed is not None and (explore is None or seed < 0):
        raise UsageError("--seed is a number from 0 on, of the draws of --explore.")
    if out is not None:
        check_output(out, inputs=[folder, contexts, actions], force=force)
    policy, engine = load_policy(folder), connect()
    given = open_whole(engine, contexts)
    allowed = None if actions is None else open_whole(engine, actions)
    if explore is not None and seed is None:
        seed = randbits(32)
        typer.echo(f"Drawn with --seed {seed}.", err=True)
    chosen = policy.choose_table(given, allowed, explore=explore, rng=np.random.default_rng(seed))
    for note in policy.unfamiliar(given, allowed):
        typer.echo(f"note: {note}", err=True)
    if out is not None:
        write_table(out, chosen, force=force)
    elif json:
        draws = {} if explore is None else {"explore": explore, "seed": seed}
        typer.echo(json_.dumps({**draws, "decisions": chosen.to_pylist()}, default=str))
    else:
        numbers = 1 if explore is None else 2
        rows = [tuple(str(value) for value in row.values()) for row in chosen.to_pylist()]
        show([TextTable("Chosen", tuple(chosen.column_names), rows, left=chosen.num_columns - numbers)], [])
