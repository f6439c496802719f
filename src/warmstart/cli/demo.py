"""warmstart demo"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from warmstart.cli.completion import SCALES
from warmstart.cli.options import command

if TYPE_CHECKING:
    from warmstart.core import Progress
    from warmstart.engine import LocalEngine


@command(scale=SCALES)
def demo(scale: str = "small", llm: bool = False, seed: int = 0, out: Path = Path("warmstart-demo")) -> None:
    """Run the paper's experiment on a simulated month, and show the truth beside every estimate.

    Options:
        scale (SCALE): small (1 M events), medium (10 M) or paper (54 M).
        llm: Instead: which of two language models should answer? From a router's raw log to a verdict.
        seed: Which month to draw.
        out (DIR): Where to leave the log, the policies, the results and the pages.

    Examples:
        warmstart demo
        warmstart demo --scale medium --seed 3 --out month-3
        warmstart demo --llm --out routing
    """
    from warmstart.core import UsageError
    from warmstart.demo import LEFT, ROUTING_LEFT, make_room
    from warmstart.engine import connect
    from warmstart.report import ProgressDisplay

    if llm and scale != "small":
        raise UsageError("--scale is for the paper's experiment.", "Leave it out.")
    engine = connect(memory_limit="4GB")
    # What is written names files by where they are in the demo's folder: it can be moved, and so it is when it is done.
    with make_room(out, ROUTING_LEFT if llm else LEFT) as room, chdir(room), ProgressDisplay(engine) as progress:
        show = _routing(seed, engine, progress) if llm else _experiment(scale, seed, engine, progress)
    show(out)


def _experiment(scale: str, seed: int, engine: LocalEngine, progress: Progress) -> Callable[[Path], None]:
    """Run the paper's experiment in this folder; return what prints it."""
    from warmstart.demo import experiment_notes, experiment_tables, run_experiment
    from warmstart.report import save_report, show

    experiment = run_experiment(Path(), scale=scale, seed=seed, engine=engine, on_progress=progress)
    progress("writing pages")
    save_report(experiment.audit, "audit.html")
    save_report(experiment.evaluation, "evaluation.html")

    def printed(out: Path) -> None:
        show(experiment_tables(experiment), experiment_notes(experiment))
        typer.echo(f"\nThe log, the policies, the results and two pages to look at are in {out}/", err=True)

    return printed


def _routing(seed: int, engine: LocalEngine, progress: Progress) -> Callable[[Path], None]:
    """Go from a router's raw log to a verdict in this folder; return what prints it."""
    from warmstart.demo import routing_notes, routing_tables, run_routing
    from warmstart.report import save_report, show

    done = run_routing(Path(), seed=seed, engine=engine, on_progress=progress)
    progress("writing the page")
    save_report(done.evaluation, "routing.html", selection=done.selection)

    def printed(out: Path) -> None:
        show(routing_tables(done), routing_notes(done))
        typer.echo(f"\nThe log, the policies, the results and a page to look at are in {out}/", err=True)

    return printed
