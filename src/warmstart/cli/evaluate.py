"""warmstart evaluate"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from warmstart.cli.completion import AUTO, ESTIMATORS, INTERVALS, POLICIES, PROPENSITIES, WINDOWS, one_of
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
from warmstart.core.text import quoted
from warmstart.results import Tau
from warmstart.results import select as find_best

if TYPE_CHECKING:
    from warmstart.events import Events
    from warmstart.policy import NamedPolicy
    from warmstart.results import IntervalName

PolicyOption = Annotated[
    list[str],
    typer.Option(
        "--policy",
        autocompletion=one_of(POLICIES),
        metavar="[NAME=]P",
        help="logging, uniform, constant:ACTION, a folder that fit wrote, naive:FOLDER (the best of all actions, shown "
        "there or not), or a file of decisions (context columns, action[, probability]). "
        "May be repeated.",
    ),
]
TauOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tau",
        autocompletion=one_of(AUTO),
        metavar="TAU",
        help="The floor of the propensity, in (0, 1], or auto: chosen without a look at the evaluated rewards. May be "
        "repeated.  [default: auto]",
        show_default=False,
    ),
]
SelectOption = Annotated[
    bool, typer.Option("--select", help="Name the policy that is certified to gain most over logging, or none.")
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
        "--weights-from",
        autocompletion=one_of(WINDOWS),
        metavar="WINDOW",
        help="Count propensities in: evaluated, train or all (the paper's).",
    ),
]
FeasibleOption = Annotated[
    str | None,
    typer.Option(
        "--feasible-from",
        autocompletion=one_of(WINDOWS),
        metavar="WINDOW",
        help="Take feasible actions from: train (if split), evaluated or all.",
    ),
]
IntervalOption = Annotated[
    str,
    typer.Option(
        "--interval",
        autocompletion=one_of(INTERVALS),
        metavar="NAME",
        help="bets, kl, hoeffding, bernstein (finite-sample), gamma or bootstrap (approximate).",
    ),
]
PropensityOption = Annotated[
    str | None,
    typer.Option(
        "--propensity", metavar="COLUMN", help="The logged probability of what was shown, if it was recorded."
    ),
]
SourceOption = Annotated[
    str,
    typer.Option(
        "--propensities",
        autocompletion=one_of(PROPENSITIES),
        metavar="SOURCE",
        help="counts, back-off (rare contexts borrow), model (of the context columns), logged, or auto.",
    ),
]
CoarserOption = Annotated[
    list[str] | None,
    typer.Option(
        "--coarser",
        metavar="C1,C2",
        help="A coarser context to borrow from: some of the context columns. May be repeated, most specific first.",
    ),
]
EstimatorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        autocompletion=one_of(ESTIMATORS),
        metavar="NAME",
        help="A best estimate at the whole beside the bound: snips, dm, dr, switch-dr, shrunk-dr. May be repeated.",
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
  warmstart evaluate log.parquet --context age --context city --action ad --reward click \\
      --propensities model --policy new=by-city.csv --estimator dr
"""


def evaluate(
    *,
    events: EventsArgument = None,
    context: ContextOption,
    action: ActionOption,
    reward: RewardOption,
    policy: PolicyOption,
    tau: TauOption = None,
    time: TimeOption = None,
    table: TableOption = None,
    test_from: TestFromOption = None,
    test_fraction: TestFractionOption = None,
    weights_from: WeightsOption = "evaluated",
    feasible_from: FeasibleOption = None,
    delta: DeltaOption = 0.05,
    interval: IntervalOption = "bets",
    no_live: NoLiveOption = False,
    select: SelectOption = False,
    propensity: PropensityOption = None,
    propensities: SourceOption = "auto",
    coarser: CoarserOption = None,
    estimator: EstimatorOption = None,
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
            propensity=propensity,
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
            tau=[_tau(text) for text in tau or ["auto"]],
            delta=delta,
            interval=cast("IntervalName", interval),
            feasible_from=cast("Any", feasible_from),
            live=not no_live,
            propensities=propensities,
            coarser=[level.split(",") for level in coarser or ()],
            estimators=estimator or (),
            contributions=0 if html is None else CONTRIBUTIONS,
            on_progress=lambda step, *_: work.step(step),
        )
    if html is not None:
        save_report(found, html)
    chosen = find_best(found) if select else None
    if json:
        selected = {} if chosen is None else {"selected": chosen.to_dict()}
        typer.echo(dumps({**found.to_dict(), **selected}, indent=2, allow_nan=False))
    else:
        show(Console(), found.tables, [*([] if chosen is None else [str(chosen)]), *found.notes])


evaluate.__doc__ = f"{evaluate.__doc__}\n{EXAMPLES}"


def _tau(text: str) -> Tau:
    try:
        return "auto" if text == "auto" else float(text)
    except ValueError as error:
        raise UsageError(f"--tau cannot be {quoted(text)}.", "Give auto, or a number in (0, 1].") from error


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
