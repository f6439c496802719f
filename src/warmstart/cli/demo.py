"""warmstart demo"""

from __future__ import annotations

from pathlib import Path

import typer

from warmstart.cli.completion import SCALES
from warmstart.cli.options import command


@command(scale=SCALES)
def demo(scale: str = "small", seed: int = 0, out: Path = Path("warmstart-demo")) -> None:
    """Run the paper's experiment on a simulated month, and show the truth beside every estimate.

    Options:
        scale (SCALE): small (1 M events), medium (10 M) or paper (54 M).
        seed: Which month to draw.
        out (DIR): Where to leave the log, the policies, the results and the pages.

    Examples:
        warmstart demo
        warmstart demo --scale medium --seed 3 --out month-3
    """
    from warmstart.demo import LEFT, experiment_notes, experiment_tables, make_room, run_experiment
    from warmstart.engine import connect
    from warmstart.report import ProgressDisplay, save_report, show

    engine = connect(memory_limit="4GB")
    with make_room(out, LEFT), ProgressDisplay(engine) as progress:
        experiment = run_experiment(out, scale=scale, seed=seed, engine=engine, on_progress=progress)
        progress("writing pages")
        save_report(experiment.audit, out / "audit.html")
        save_report(experiment.evaluation, out / "evaluation.html")
    show(experiment_tables(experiment), experiment_notes(experiment))
    typer.echo(f"\nThe log, the policies, the results and two pages to look at are in {out}/", err=True)
