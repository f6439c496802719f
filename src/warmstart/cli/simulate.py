"""warmstart simulate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warmstart.cli.completion import SCALES, one_of

OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.", show_default=False)]
ScaleOption = Annotated[
    str,
    typer.Option(
        "--scale",
        autocompletion=one_of(SCALES),
        metavar="NAME",
        help="small (1 M events), medium (10 M) or paper (54 M, 3.4 M pages).",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Which month to draw.")]
EventsOption = Annotated[int | None, typer.Option("--events", metavar="N", help="Events, if not the scale's.")]
ContextsOption = Annotated[int | None, typer.Option("--contexts", metavar="N", help="Pages, if not the scale's.")]
ActionsOption = Annotated[int | None, typer.Option("--actions", metavar="N", help="Ads, if not the scale's.")]
DaysOption = Annotated[int, typer.Option("--days", metavar="N", help="Days.")]
RateOption = Annotated[float, typer.Option("--click-rate", metavar="R", help="The mean click probability.")]
RandomOption = Annotated[
    float, typer.Option("--random-share", metavar="F", help="Show so many of the events a random live ad.")
]
StaticOption = Annotated[bool, typer.Option("--static", help="All ads can be shown all month.")]
ReactionOption = Annotated[
    float, typer.Option("--reaction", metavar="R", help="How strongly tomorrow's choice follows clicks; try 50.")
]
ClickBudgetOption = Annotated[
    float, typer.Option("--click-budget", metavar="N", help="Ads stop after about so many clicks; 0: never.")
]
DriftOption = Annotated[
    float,
    typer.Option(
        "--drift",
        metavar="F",
        help="Click probabilities change by this share over the month, half of them up, half down.",
    ),
]
HiddenOption = Annotated[
    float, typer.Option("--hidden", metavar="F", help="Effect of a segment that the logger knows and the log lacks.")
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="Threads; all by default.")]

EXAMPLES = """
\b
Examples:
  warmstart simulate month
  warmstart simulate hidden-month --events 200000 --contexts 5000 --actions 1000 --hidden 0.5
  warmstart simulate paper-month --scale paper --seed 7
"""


def simulate(
    out: OutArgument,
    scale: ScaleOption = "small",
    seed: SeedOption = 0,
    events: EventsOption = None,
    contexts: ContextsOption = None,
    actions: ActionsOption = None,
    days: DaysOption = 30,
    click_rate: RateOption = 0.02,
    random_share: RandomOption = 0.0,
    static: StaticOption = False,
    reaction: ReactionOption = 0.0,
    click_budget: ClickBudgetOption = 0.0,
    drift: DriftOption = 0.0,
    hidden: HiddenOption = 0.0,
    threads: ThreadsOption = None,
) -> None:
    """Write a month of ads, with words, in which the true value of any policy is known."""
    from rich.console import Console

    from warmstart.core.text import printable
    from warmstart.report import Share
    from warmstart.simulation import simulate as write

    with Share(Console(stderr=True)) as share:
        world = write(
            out,
            scale=scale,
            threads=threads,
            on_progress=share.report,
            seed=seed,
            events=events,
            contexts=contexts,
            actions=actions,
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
    size = f"{settings.events:,} events, {settings.contexts:,} pages and {settings.actions:,} ads"
    typer.echo(f"{printable(out)}/ holds {size}: events.parquet, contexts.parquet, actions.parquet, truth/")
    typer.echo(
        f"Next: warmstart audit {printable(world.events_path)} --context page --action ad --reward click "
        "--time shown_at --html audit.html"
    )


simulate.__doc__ = f"{simulate.__doc__}\n{EXAMPLES}"
