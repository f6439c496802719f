"""warmstart simulate"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warmstart.cli.completion import LEARNERS, SCALES, STICKY, option
from warmstart.cli.options import command
from warmstart.core import UsageError

if TYPE_CHECKING:
    from warmstart.simulation import LearnerSettings, UserSettings


@command(scale=SCALES, sticky=STICKY, learner=LEARNERS)
def simulate(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.", show_default=False)],
    scale: str = "small",
    seed: int = 0,
    events: int | None = None,
    n_contexts: int | None = None,
    n_actions: int | None = None,
    days: int = 30,
    click_rate: float = 0.02,
    random_share: float = 0.0,
    static: bool = False,
    reaction: float = 0.0,
    click_budget: float = 0.0,
    drift: float = 0.0,
    hidden: float = 0.0,
    learner: str | None = None,
    updates_per_day: float | None = None,
    users: bool = False,
    visits: int | None = None,
    heavy_users: int | None = None,
    heavy_visits: int | None = None,
    heavy_rate: float | None = None,
    frailty: float | None = None,
    sticky: str | None = None,
    threads: Annotated[int | None, option("--threads", "N", "Threads; all by default.", min=1)] = None,
) -> None:
    """Write a month of ads, with words, in which the true value of any policy is known.

    Options:
        scale (NAME): small (1 M events), medium (10 M) or paper (54 M, 3.4 M pages).
        seed: Which month to draw.
        events (N): Events, if not the scale's.
        n_contexts (N): Pages, if not the scale's.
        n_actions (N): Ads, if not the scale's.
        days (N): Days.
        click_rate (R): The mean click probability.
        random_share (F): Show so many of the events a random live ad.
        static: All ads can be shown all month.
        reaction (R): How strongly tomorrow's choice follows clicks; try 50.
        click_budget (N): Ads stop after about so many clicks; 0: never.
        drift (F): Click probabilities change by this share over the month, half of them up, half down.
        hidden (F): Effect of a segment that the logger knows and the log lacks (confounding).
        learner (KIND): The logger learns from clicks while it logs: thompson (Thompson sampling), epsilon-greedy (at
            random for a tenth of the events), greedy, or nightly (a model that is refitted, softmax of its scores).
        updates_per_day (N): How often it takes in the clicks so far; 1 if not given, 0.143 for every week.
        users: Users come back, and the log names them in a column user: evaluate with --unit user.
        visits (N): Visits of a user; 20 if not given.
        heavy_users (N): So many users come more often; none if not given.
        heavy_visits (N): Visits of a heavy user; 400 if not given.
        heavy_rate (R): Click probability of heavy users relative to the others, from 0 to 1; 1 if not given.
        frailty (SHAPE): Users differ in how much they click, by a gamma factor of this shape; try 1, 0.25 or 0.1, the
            smaller, the more dependence.
        sticky (WHAT): What users keep at all visits: nothing, action (the ad, wherever and as long as it can be shown)
            or both (the page too).

    Examples:
        warmstart simulate month
        warmstart simulate hidden-month --events 200000 --n-contexts 5000 --n-actions 1000 --hidden 0.5
        warmstart simulate learned-month --events 200000 --n-contexts 500 --static --learner thompson
        warmstart simulate users-month --events 200000 --users --frailty 0.25 --sticky both --heavy-users 50
        warmstart simulate paper-month --scale paper --seed 7
    """
    from warmstart.core import printable
    from warmstart.report import ProgressDisplay
    from warmstart.simulation import simulate as write

    given = {"visits": visits, "heavy_users": heavy_users, "heavy_visits": heavy_visits, "heavy_rate": heavy_rate}
    who = _users({**given, "frailty": frailty, "sticky": sticky}, asked=users)
    with ProgressDisplay() as progress:
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
            users=who,
            learner=_learner({"kind": learner, "updates_per_day": updates_per_day}),
        )
    settings = world.settings
    size = f"{settings.events:,} events, {settings.n_contexts:,} pages and {settings.n_actions:,} ads"
    typer.echo(f"{printable(out)}/ holds {size}: events.parquet, contexts.parquet, actions.parquet, truth/")
    columns = "--context page --action ad --reward click --time shown_at" + (" --unit user" if users else "")
    typer.echo(f"Next: warmstart audit {printable(world.events_path)} {columns} --html audit.html")


def _users(given: dict[str, Any], *, asked: bool) -> UserSettings | None:
    """Return the settings of users from the options that were given; None if no users are asked for."""
    from warmstart.simulation import UserSettings

    settings = {name: value for name, value in given.items() if value is not None}
    if settings and not asked:
        raise UsageError(f"--{next(iter(settings)).replace('_', '-')} describes users.", "Add --users.")
    return UserSettings(**settings) if asked else None


def _learner(given: dict[str, Any]) -> LearnerSettings | None:
    """Return the settings of a learner from the options that were given; None if none is asked for."""
    from warmstart.simulation import LearnerSettings

    settings = {name: value for name, value in given.items() if value is not None}
    if settings and "kind" not in settings:
        raise UsageError("--updates-per-day describes a learner.", "Add --learner.")
    return LearnerSettings(**settings) if settings else None
