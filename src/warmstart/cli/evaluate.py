"""warmstart evaluate"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from warmstart.cli.options import (
    ActionOption,
    ContextOption,
    DropNullsOption,
    EngineOption,
    EventsArgument,
    HtmlOption,
    JsonOption,
    MemoryOption,
    RewardOption,
    RewardRangeOption,
    TableOption,
    ThreadsOption,
    TimeOption,
    check_folder,
)
from warmstart.core.errors import UsageError

if TYPE_CHECKING:
    from warmstart.core.interval import IntervalName
    from warmstart.core.names import WindowName
    from warmstart.events import Events
    from warmstart.policy import NamedPolicy

PolicyOption = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="[NAME=]P",
        help="logging, uniform, constant:ACTION, a folder that fit wrote, naive:FOLDER (the best of all actions, shown "
        "there or not), or a file of decisions (context columns, action[, probability]). "
        "May be repeated.",
    ),
]
TauOption = Annotated[
    list[float], typer.Option("--tau", metavar="TAU", help="The floor of the propensity, in (0, 1]. May be repeated.")
]
TestFromOption = Annotated[
    str | None, typer.Option("--test-from", metavar="TIME", help="Evaluate events from this time on; train on earlier.")
]
TestFractionOption = Annotated[
    float | None,
    typer.Option("--test-fraction", metavar="F", help="Evaluate the last F of the events; train on earlier."),
]
WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights-from", metavar="WINDOW", help="Count propensities in: evaluated, train or all (the paper's)."
    ),
]
FeasibleOption = Annotated[
    str | None,
    typer.Option(
        "--feasible-from", metavar="WINDOW", help="Take feasible actions from: train (if split), evaluated or all."
    ),
]
IntervalOption = Annotated[
    str,
    typer.Option(
        "--interval", metavar="NAME", help="kl, bets, hoeffding, bernstein (finite-sample) or gamma (approximate)."
    ),
]
DeltaOption = Annotated[float, typer.Option("--delta", help="How often an interval may miss.")]
NoLiveOption = Annotated[
    bool, typer.Option("--no-live", help="Let policies choose actions on days they were not live.")
]

CONTRIBUTIONS = 10

EXAMPLES = """
\b
Examples:
  warmstart evaluate log.parquet --context page --action ad --reward click --policy uniform --tau 0.05
  warmstart evaluate 'log/*.csv' --context page --context hour --action ad --reward click --time shown_at \\
      --test-fraction 0.35 --policy logging --policy new=decisions.csv --tau 0.01 --tau 0.05 --json
"""


def evaluate(
    *,
    events: EventsArgument = None,
    context: ContextOption,
    action: ActionOption,
    reward: RewardOption,
    policy: PolicyOption,
    tau: TauOption,
    time: TimeOption = None,
    table: TableOption = None,
    test_from: TestFromOption = None,
    test_fraction: TestFractionOption = None,
    weights_from: WeightsOption = "evaluated",
    feasible_from: FeasibleOption = None,
    delta: DeltaOption = 0.05,
    interval: IntervalOption = "kl",
    no_live: NoLiveOption = False,
    reward_range: RewardRangeOption = (0.0, 1.0),
    drop_nulls: DropNullsOption = False,
    engine: EngineOption = "duckdb",
    memory_limit: MemoryOption = None,
    threads: ThreadsOption = None,
    html: HtmlOption = None,
    json: JsonOption = False,
) -> None:
    """Estimate what policies would have earned, with interval, bias and support."""
    from rich.console import Console

    from warmstart import pipeline
    from warmstart.engine import connect
    from warmstart.events import read_events
    from warmstart.policy import parse_policies
    from warmstart.report import Working, save_report, show

    if not events and table is None:
        raise UsageError("Name the log: files, or --table NAME.")
    check_folder(html)
    held = connect(engine, memory_limit=memory_limit, threads=threads)
    with Working(Console(stderr=True), held) as work:
        log = read_events(
            events,
            context=context,
            action=action,
            reward=reward,
            time=time,
            table=table,
            reward_range=reward_range,
            drop_nulls=drop_nulls,
            engine=held,
        )
        work.step("splitting")
        named = parse_policies(policy)
        train, evaluated = _windows(log, test_from, test_fraction, _end_of_training(named))
        found = pipeline.evaluate(
            named,
            evaluated,
            train=train,
            tau=tau,
            delta=delta,
            interval=cast("IntervalName", interval),
            weights_from=cast("WindowName", weights_from),
            feasible_from=cast("Any", feasible_from),
            live=not no_live,
            contributions=0 if html is None else CONTRIBUTIONS,
            on_step=work.step,
        )
    if html is not None:
        save_report(found, html)
    if json:
        typer.echo(found.to_json())
    else:
        show(Console(), found.tables(), found.notes())


evaluate.__doc__ = f"{evaluate.__doc__}\n{EXAMPLES}"


def _end_of_training(policies: list[NamedPolicy]) -> int | None:
    """Return the last moment, in microseconds, that a policy learned from."""
    learned = [policy.fitted.window.last for policy in policies if policy.fitted is not None]
    return max((last for last in learned if last is not None), default=None)


def _windows(
    log: Events, test_from: str | None, test_fraction: float | None, learned_until: int | None
) -> tuple[Events | None, Events]:
    if test_from is not None and test_fraction is not None:
        raise UsageError("--test-from and --test-fraction exclude each other.")
    if test_from is not None:
        return log.split(at=test_from)
    if test_fraction is not None:
        if not 0 < test_fraction < 1:
            raise UsageError(f"--test-fraction must lie between 0 and 1, and is {test_fraction:g}.")
        return log.split(fraction=1 - test_fraction)
    if learned_until is not None and log.columns.time is not None:
        after = datetime.fromtimestamp(0, tz=UTC) + timedelta(microseconds=learned_until + 1)
        if log.window.first is not None and log.window.first <= learned_until:
            return log.split(at=after)
    return None, log
