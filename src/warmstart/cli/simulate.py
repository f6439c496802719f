"""warmstart simulate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import SCALES
from warmstart.cli.options import command, option

EXAMPLES = """
  warmstart simulate month
  warmstart simulate hidden-month --events 200000 --n-contexts 5000 --n-actions 1000 --hidden 0.5
  warmstart simulate paper-month --scale paper --seed 7
"""

ScaleOption = Annotated[
    str,
    option("--scale", "NAME", "small (1 M events), medium (10 M) or paper (54 M, 3.4 M pages).", words=SCALES),
]
RandomOption = Annotated[float, option("--random-share", "F", "Show so many of the events a random live ad.")]
ReactionOption = Annotated[float, option("--reaction", "R", "How strongly tomorrow's choice follows clicks; try 50.")]
BudgetOption = Annotated[float, option("--click-budget", "N", "Ads stop after about so many clicks; 0: never.")]
DriftOption = Annotated[
    float,
    option("--drift", "F", "Click probabilities change by this share over the month, half of them up, half down."),
]
HiddenOption = Annotated[
    float, option("--hidden", "F", "Effect of a segment that the logger knows and the log lacks (confounding).")
]


@command(EXAMPLES)
def simulate(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.", show_default=False)],
    scale: ScaleOption = "small",
    seed: Annotated[int, option("--seed", None, "Which month to draw.")] = 0,
    events: Annotated[int | None, option("--events", "N", "Events, if not the scale's.")] = None,
    n_contexts: Annotated[int | None, option("--n-contexts", "N", "Pages, if not the scale's.")] = None,
    n_actions: Annotated[int | None, option("--n-actions", "N", "Ads, if not the scale's.")] = None,
    days: Annotated[int, option("--days", "N", "Days.")] = 30,
    click_rate: Annotated[float, option("--click-rate", "R", "The mean click probability.")] = 0.02,
    random_share: RandomOption = 0.0,
    static: Annotated[bool, option("--static", None, "All ads can be shown all month.")] = False,
    reaction: ReactionOption = 0.0,
    click_budget: BudgetOption = 0.0,
    drift: DriftOption = 0.0,
    hidden: HiddenOption = 0.0,
    threads: Annotated[int | None, option("--threads", "N", "Threads; all by default.", min=1)] = None,
) -> None:
    """Write a month of ads, with words, in which the true value of any policy is known."""
    from rich.console import Console

    from warmstart.core import printable
    from warmstart.report import ProgressDisplay
    from warmstart.simulation import simulate as write

    with ProgressDisplay(Console(stderr=True)) as progress:
        world = write(
            out,
            scale=scale,
            threads=threads,
            on_progress=progress,
            seed=seed,
            events=events,
            n_contexts=n_contexts,
            n_actions=n_actions,
            days=days,
            click_rate=click_rate,
            random_share=random_share,
            churn=not static,
            reaction=reaction,
            click_budget=click_budget,
            drift=drift,
            hidden=hidden,
        )
    settings = world.settings
    size = f"{settings.events:,} events, {settings.n_contexts:,} pages and {settings.n_actions:,} ads"
    typer.echo(f"{printable(out)}/ holds {size}: events.parquet, contexts.parquet, actions.parquet, truth/")
    typer.echo(
        f"Next: warmstart audit {printable(world.events_path)} --context page --action ad --reward click "
        "--time shown_at --html audit.html"
    )
