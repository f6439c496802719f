"""warmstart demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.core.errors import UsageError

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to leave the log, the decisions and the results.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Which month to draw.")]


def demo(out: OutOption = Path("warmstart-demo"), seed: SeedOption = 0) -> None:
    """Draw a month whose truth is known, evaluate three policies on its later days, and show the truth beside them."""
    from rich.console import Console

    from warmstart import pipeline
    from warmstart.cli.demo_month import write_month
    from warmstart.core.files import write_atomically
    from warmstart.core.tables import TextTable
    from warmstart.engine import connect
    from warmstart.events import read_events
    from warmstart.report import Working, show

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder with --out.")
    out.mkdir(parents=True, exist_ok=True)
    engine = connect()
    with Working(Console(stderr=True), engine) as work:
        work.step("drawing the month")
        world = write_month(out, seed=seed)
        events = read_events(
            out / "events.parquet", context="context", action="action", reward="reward", time="time", engine=engine
        )
        train, test = events.split(fraction=0.65)
        policies = {"logging": "logging", "uniform": "uniform", "best-seen": str(out / "decisions.csv")}
        found = pipeline.evaluate(policies, test, train=train, tau=[0.01, 0.05], on_step=work.step)
        truth = {
            name: world.true_value(pipeline.policy_table(policy, test, train=train), events=test)
            for name, policy in policies.items()
        }
        write_atomically(out / "evaluation.json", found.to_json())
    rows = [
        (e.policy, f"{e.tau:g}", f"{e.value:.4f}", f"{e.certified_lower or 0:.4f}", f"{truth[e.policy]:.4f}")
        for e in found
    ]
    beside = TextTable(
        "Here the truth is known", ("policy", "tau", "value", "at least", "true expected earnings"), rows, left=1
    )
    show(Console(), [*found.tables(), beside], found.notes())
    typer.echo(f"\nThe log, the decisions and the results are in {out}/", err=True)
