"""warmstart demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import SCALES
from warmstart.cli.options import command, option

MEMORY = "4GB"
EXAMPLES = """
  warmstart demo
  warmstart demo --scale medium --seed 3 --out month-3
"""

OUT = "Where to leave the log, the policies, the results and the pages."
SCALE = "small (1 M events), medium (10 M) or paper (54 M)."


@command(EXAMPLES)
def demo(
    scale: Annotated[str, option("--scale", "SCALE", SCALE, words=SCALES)] = "small",
    seed: Annotated[int, option("--seed", None, "Which month to draw.")] = 0,
    out: Annotated[Path, option("--out", "DIR", OUT)] = Path("warmstart-demo"),
) -> None:
    """Run the paper's experiment on a simulated month, and show the truth beside every estimate."""
    from rich.console import Console

    from warmstart.demo import experiment_notes, experiment_tables, make_room, run_experiment
    from warmstart.engine import connect
    from warmstart.report import ProgressDisplay, save_report, show

    make_room(out)
    engine = connect(memory_limit=MEMORY)
    with ProgressDisplay(Console(stderr=True), engine) as progress:
        experiment = run_experiment(out, scale=scale, seed=seed, engine=engine, on_progress=progress)
        progress("writing pages")
        save_report(experiment.audit, out / "audit.html")
        save_report(experiment.evaluation, out / "evaluation.html")
    show(Console(), experiment_tables(experiment), experiment_notes(experiment))
    typer.echo(f"\nThe log, the policies, the results and two pages to look at are in {out}/", err=True)
