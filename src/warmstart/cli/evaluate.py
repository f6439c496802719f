"""warmstart evaluate"""

from __future__ import annotations

from contextlib import ExitStack
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from warmstart.cli.completion import AUTO, ESTIMATORS, INTERVALS, NEVER, POLICIES, PROPENSITIES, WINDOWS
from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, Only, command, parse_tau
from warmstart.cli.pages import check_paths
from warmstart.pipeline import EngineSettings, LogSettings, WindowSettings
from warmstart.results import select as find_best

if TYPE_CHECKING:
    from warmstart.engine import LocalEngine
    from warmstart.events import Events
    from warmstart.results import Evaluation, Progressive, Selection

WORDS = {"policy": POLICIES, "tau": AUTO, "propensities": PROPENSITIES, "feasible_from": WINDOWS}


@command(**WORDS, interval=INTERVALS, estimator=ESTIMATORS, trained_until=NEVER, per=("event", "unit"))
def evaluate(
    *,
    log: LogSettings,
    policy: list[str] | None = None,
    contexts: Path | None = None,
    windows: Annotated[WindowSettings, Only("test_from", "test_fraction")],
    tau: list[str] | None = None,
    propensities: str = "auto",
    coarser: list[str] | None = None,
    feasible_from: str | None = None,
    delta: float = 0.05,
    interval: str = "bets",
    estimator: list[str] | None = None,
    trained_until: list[str] | None = None,
    allow_unknown_actions: bool = False,
    per: str = "event",
    until: str | None = None,
    first_epochs: bool = False,
    progressive: bool = False,
    every: int = 1,
    no_live: bool = False,
    guard: list[str] | None = None,
    utility: str | None = None,
    by: list[str] | None = None,
    margin: float | None = None,
    doubt: float | None = None,
    select: bool = False,
    supported_out: Path | None = None,
    html: HtmlOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineSettings,
) -> None:
    r"""Estimate what policies would have earned (off-policy evaluation), with confidence interval, bias and support.

    Options:
        policy ([NAME=]P): The target policy: logging (the behaviour policy), uniform (over the actions feasible in the
            context), uniform-all (over all live actions), constant:ACTION, a folder that fit wrote, naive:FOLDER (the
            best of all actions, shown there or not), a file of decisions (context columns, action[, probability]), or
            column:NAME, a column of the log with another model's choice at each event. May be repeated.
        contexts (FILE): Features of contexts, as fit takes them: learned policies choose in contexts that their
            training never saw.
        tau (TAU): The floor of the propensity (clipping constant), in (0, 1], or auto: chosen without a look at the
            evaluated rewards. May be repeated.  [default: auto]
        propensities (SOURCE): Where propensities come from: counts of the evaluated window, train (counts of the
            training window), all (of both, the paper's), back-off (rare contexts borrow), model (of the context
            columns), mixture (of models, one for every epoch), logged, or auto.
        coarser (C1,C2): A coarser context to borrow from: some of the context columns. May be repeated, most specific
            first.
        feasible_from (WINDOW): Take feasible actions from: train (if split), evaluated or all.
        delta: How often a confidence interval may miss.
        interval (NAME): The confidence interval: bets, kl, hoeffding, bernstein (finite-sample), gamma or bootstrap
            (approximate).
        estimator (NAME): A point estimate of all traffic beside the bounds: dr (doubly robust), shrunk-dr, switch-dr,
            snips, dm or ips. May be repeated; the best of them stands first.  [default: dr]
        trained_until ([NAME=]T|never): When decisions were fitted on rewards of the log last: a time, or never. No
            end is certified if that is inside the evaluated window. Without NAME, of all files. May be repeated.
        allow_unknown_actions: Let decisions name actions that the log never shows; they count as unsupported.
        per (event|unit): Whose mean: that of events, or of units, each counting the same however often it comes.
        until (TIME): Evaluate what was known then: the epochs that had ended. Bounds hold at all epoch ends at once.
        first_epochs: Keep of every unit the events of its first epoch only: where units come back in later epochs,
            bounds hold for these.
        progressive: Instead of --policy: learn from the log itself, and value in each epoch the policy learned from all
            earlier ones.
        every (K): With --progressive, learn anew in every K-th epoch.
        no_live: Let policies choose actions on days not live.
        guard (LIMIT): A limit on what a policy may do to an outcome, against logging: 'cost<=+2%', 'complaint<=+0.001'.
            May be repeated. --select takes only policies that are proven to keep all of them.
        utility (SUM): Judge policies by a weighted sum of outcomes in the place of the reward: 'quality - 50*cost'.
        by (COLUMN): A column to tell segments of the traffic apart by: of the context, of --contexts, or of the log,
            which then joins the context. May be given twice.
        margin (X): A change of the reward per event up to this makes no difference that matters: verdicts may say
            "same".
        doubt (R): Let bounds and gains allow for a hidden segment: in a context, events that were shown an action could
            earn up to R times what the others would have earned with it, or 1 / R of it; and the same of how far
            rewards stay below the largest.
        select: Name the policy certified to improve most on logging, its guards kept, or none.
        supported_out (FILE): Write the contexts and actions that policies choose and the log supports, the rule to
            deploy: with probability, propensity and events (.csv or .parquet).

    Examples:
        warmstart evaluate log.parquet --context page --action ad --reward click --policy uniform --tau 0.05
        warmstart evaluate 'log/*.csv' --context page --context hour --action ad --reward click --time shown_at \
            --test-fraction 0.35 --policy logging --policy new=decisions.csv --tau 0.01 --tau 0.05 --json
        warmstart evaluate log.parquet --context page --context hour --action ad --reward click --time shown_at \
            --policy uniform-all --policy new=decisions.csv --trained-until new=never --allow-unknown-actions
        warmstart evaluate log.parquet --context page --action ad --reward click --unit customer --policy uniform
        warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at --epoch day \
            --policy uniform --until 2026-10-20
        warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at --epoch week \
            --progressive
        warmstart evaluate log.parquet --context page --context hour --action ad --reward click --also cost \
            --minimize cost --range cost=0:0.02 --policy new=decisions.csv --trained-until never \
            --guard 'cost<=+2%' --by hour --select
        warmstart evaluate log.parquet --context page --action ad --reward click --also cost --minimize cost \
            --range cost=0:0.02 --policy uniform --utility 'click - 10*cost'
        warmstart evaluate log.parquet --context age --context city --action ad --reward click \
            --propensities model --policy new=by-city.csv --estimator dr
        warmstart evaluate log.parquet --context page --action ad --reward click --policy shadow=column:new_model
        warmstart evaluate log.parquet --context page --context hour --action ad --reward click --policy uniform \
            --doubt 1.5
    """
    from warmstart import pipeline
    from warmstart.core import write_tables
    from warmstart.policy import parse_policies
    from warmstart.report import ProgressDisplay, save_report

    check_kind(policy, every, progressive=progressive)
    taus = [parse_tau("--tau", text) for text in tau or ["auto"]]
    for out, other in ((html, supported_out), (supported_out, html)):
        check_paths(out, policy or [], [log.events, contexts], force=force, other=other)
    check_table(supported_out, progressive=progressive)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress, ExitStack() as resources:
        events = open_guarded(log, connected, guard or [])
        progress("splitting")
        events = events.first_epochs() if first_epochs else events
        events = events if until is None else events.until(until)
        if progressive:
            others = (estimator, trained_until, coarser, feasible_from, select, guard, utility, by, log.also, doubt)
            plain = propensities in ("auto", "counts") and interval == "bets" and per == "event"
            check_progressive(taus, windows, plain=plain and not any((*others, allow_unknown_actions)))
            settings: dict[str, Any] = {"every": every, "tau": taus[0], "delta": delta, "live": not no_live}
            result: Any = pipeline.evaluate_progressively(events, on_progress=progress, **settings)
        else:
            named = parse_policies(policy)
            train, evaluated = pipeline.evaluation_windows(
                events, named, test_from=windows.test_from, test_fraction=windows.test_fraction
            )
            inputs = [log.events, contexts]
            supported = None if supported_out is None else write_tables(supported_out, inputs=inputs, force=force)
            result = pipeline.evaluate(
                named,
                evaluated,
                train=train,
                tau=taus,
                delta=delta,
                interval=cast("Any", interval),
                feasible_from=cast("Any", feasible_from),
                live=not no_live,
                propensities=propensities,
                coarser=[level.split(",") for level in coarser or ()],
                estimators=estimator or ("dr",),
                contributions=0 if html is None else 10,
                trained_until=pipeline.parse_trained_until(trained_until or (), named),
                allow_unknown_actions=allow_unknown_actions,
                per=cast("Any", per),
                guards=guard or (),
                utility=utility,
                margin=margin,
                doubt=doubt,
                by=by or (),
                contexts=contexts,
                on_support=None if supported is None else resources.enter_context(supported),
                on_progress=progress,
            )
    selected = find_best(result) if select else None
    if html is not None:
        save_report(result, html, selection=selected, force=force)
    print_result(result, selected, json=json)


def open_guarded(log: LogSettings, engine: LocalEngine, guards: list[str]) -> Events:
    """Open the log; a guard on an outcome whose range nobody stated, and which needs one, is a wrong command."""
    from warmstart.core import RewardRangeError, UsageError, quoted
    from warmstart.results import guarded_outcome

    try:
        return log.open(engine)
    except RewardRangeError as error:
        about = next((text for text in guards if guarded_outcome(text) == error.outcome), None)
        if about is None or any(text.startswith(f"{error.outcome}=") for text in log.ranges or ()):
            raise
        raise UsageError(f"The guard {quoted(about)} needs a range: {error.message}", error.hint) from error


def print_result(result: Evaluation | Progressive, selected: Selection | None, *, json: bool) -> None:
    """Print a result, and the policy that was selected, if that was asked for: as one JSON object, or for people."""
    from warmstart.report import show

    if json:
        more = {} if selected is None else {"selected": selected.to_dict()}
        typer.echo(dumps({**result.to_dict(), **more}, indent=2, allow_nan=False))
    else:
        show(result.tables, [*([] if selected is None else [str(selected)]), *result.notes], result.headline)


def check_kind(policy: list[str] | None, every: int, *, progressive: bool) -> None:
    """Refuse policies with --progressive, and neither."""
    from warmstart.core import UsageError

    if bool(policy) == progressive:
        raise UsageError("Name a policy (--policy), or ask for --progressive.", "One of the two.")
    if every != 1 and not progressive:
        raise UsageError("--every is for --progressive.", "Leave it out.")


def check_table(out: Path | None, *, progressive: bool) -> None:
    """Refuse a table of supported choices with another ending than .csv or .parquet, or of policies that change."""
    from warmstart.core import UsageError

    if out is not None and progressive:
        raise UsageError("--supported-out is for --policy.", "Leave it out.")
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--supported-out writes .csv or .parquet, not '{out.suffix}'.")


def check_progressive(taus: list[Any], windows: WindowSettings, *, plain: bool) -> None:
    """Refuse what progressive evaluation does not do."""
    from warmstart.core import UsageError

    if len(taus) > 1 or not plain or windows.test_from is not None or windows.test_fraction is not None:
        raise UsageError(
            "--progressive takes one tau, one outcome, counts and bets, the whole log, and selects nothing.",
            "Leave out the options of policies, outcomes, segments, propensities, estimators and windows.",
        )
