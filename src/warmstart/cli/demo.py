"""warmstart demo"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warmstart.cli.completion import SCALES, one_of
from warmstart.core.errors import UsageError
from warmstart.core.text import percent, quoted

if TYPE_CHECKING:
    from warmstart.core.names import WindowName
    from warmstart.demo.experiment import Experiment, Line
    from warmstart.results import TextTable

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to leave the log, the policies, the results and the pages.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Which month to draw.")]
ScaleOption = Annotated[
    str,
    typer.Option(
        "--scale",
        autocompletion=one_of(SCALES),
        metavar="SCALE",
        help="small (1 M events), medium (10 M) or paper (54 M).",
    ),
]
MARK = ".warmstart-demo"
MEMORY = "4GB"

EXAMPLES = """
\b
Examples:
  warmstart demo
  warmstart demo --scale medium --seed 3 --out month-3
"""


def demo(*, scale: ScaleOption = "small", seed: SeedOption = 0, out: OutOption = Path("warmstart-demo")) -> None:
    """Run the paper's experiment on a simulated month, and show the truth beside every estimate."""
    from rich.console import Console

    from warmstart.demo.experiment import run_experiment
    from warmstart.engine import connect
    from warmstart.report import Share, save_report, show

    _make_room(out)
    with Share(Console(stderr=True)) as share:
        found = run_experiment(
            out, scale=scale, seed=seed, engine=connect(memory_limit=MEMORY), on_progress=share.report
        )
        share.report("writing pages", 0.0)
        save_report(found.audit, out / "audit.html")
        save_report(found.evaluation, out / "evaluation.html")
    tables = [_table(found, "evaluated"), _table(found, "all")]
    show(
        Console(), tables, [*(f"The log: {line}" for line in found.audit.verdict), *_notes(found), *_conclusion(found)]
    )
    typer.echo(f"\nThe log, the policies, the results and two pages to look at are in {out}/", err=True)


demo.__doc__ = f"{demo.__doc__}\n{EXAMPLES}"


def _make_room(out: Path) -> None:
    """Replace what an earlier demo left; touch nothing else."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{quoted(str(out))} is a file.", "Name a folder with --out.")
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).is_file():
            raise UsageError(f"{quoted(str(out))} holds something else.", "Name a new folder with --out.")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()


def _table(found: Experiment, weights_from: WindowName) -> TextTable:
    from warmstart.results import TextTable

    own = weights_from == "evaluated"
    header = ["method", "tau", "estimate", "interval", "should be", "truth", "supported"]
    header += ["at least", "gain, supported"] if own else ["too high by"]
    rows = []
    for line in (line for line in found.lines if line.weights_from == weights_from):
        row = [
            line.method,
            "any" if line.method == "logging" else f"{line.tau:g}",
            f"{line.estimate:.4f}",
            f"[{line.lower:.4f}, {line.upper:.4f}]",
            f"{line.visible:.4f}",
            f"{line.truth:.4f}",
            percent(line.supported),
        ]
        if own:
            row += ["-" if line.certified_lower is None else f"{line.certified_lower:.4f}", _gain(line)]
        else:
            row.append(percent(line.estimate / line.visible - 1) if line.visible > 0 else "-")
        rows.append(row)
    words = "the evaluated window (our default)" if own else "all data (the paper's choice)"
    return TextTable(f"The paper's table, weights from {words}", header, rows, left=1)


def _gain(line: Line) -> str:
    if line.gain is None or line.gain_lower is None or line.gain_upper is None or line.method == "logging":
        return "-"
    return f"{line.gain:+.4f} [{line.gain_lower:+.4f}, {line.gain_upper:+.4f}]"


def _notes(found: Experiment) -> list[str]:
    truth = (
        "'should be' is the truth that the estimate is of: what the policy earns where it is supported, in part where "
        "clipped, nothing elsewhere. 'truth' is what it earns on all of this traffic. Both are computed from the "
        "simulated world, not from its log."
    )
    methods = (
        "learned: our defaults. learned-paper: words only, one pass over the events, weights with tau .05. uniform: at "
        "random among the feasible ads (the paper's Random). naive: the best of all ads by the model, shown there or "
        "not."
    )
    notes = [truth, methods]
    if found.sampled:
        notes.append(
            "Here naive decides only for pages with a click, which is all that its estimate needs; its truth is from a "
            "sample of pages."
        )
    return notes


def _conclusion(found: Experiment) -> list[str]:
    lines = {(line.method, line.weights_from, line.tau): line for line in found.lines}
    tau = found.lines[0].tau
    learned, uniform, naive = (lines[name, "evaluated", tau] for name in ("learned", "uniform", "naive"))
    logging, paper = lines["logging", "evaluated", tau], lines["learned", "all", tau]
    better = (
        f"CONCLUSION: Where the log can tell, the learned policy earns {_gain(learned)} an event more than what was "
        f"shown (random: {_gain(uniform)}); in truth it earns {learned.truth:.4f} on all the traffic, against "
        f"{logging.truth:.4f} for what was shown and {uniform.truth:.4f} for random."
    )
    beware = (
        f"CONCLUSION: Weights from all data make it look {percent(paper.estimate / paper.visible - 1)} better than it "
        f"is there; and of naive, whose choices were hardly ever shown, the log says {naive.estimate:.4f} where the "
        f"truth is {naive.truth:.4f}: what a log cannot tell, it cannot tell."
    )
    return [better, beware]
