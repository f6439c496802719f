"""warmstart evaluate"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warmstart.cli.completion import POLICIES
from warmstart.cli.options import ForceOption, HtmlOption, JsonOption, Only, command
from warmstart.cli.pages import check_paths
from warmstart.pipeline import EngineSettings, EvaluateSettings, LogSettings, WindowSettings
from warmstart.results import select as find_best

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.engine import LocalEngine
    from warmstart.events import Events
    from warmstart.policy import NamedPolicy
    from warmstart.results import Evaluation, Progressive, Selection


@command(policy=POLICIES)
def evaluate(
    *,
    log: LogSettings,
    policy: list[str] | None = None,
    windows: Annotated[WindowSettings, Only("test_from", "test_fraction")],
    settings: EvaluateSettings,
    progressive: bool = False,
    every: int = 1,
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
            context), uniform-all (over all live actions), constant:ACTION, constants (one for every action of the log,
            up to 12), a folder that fit wrote, naive:FOLDER (the best of all actions, shown there or not), a file of
            decisions (context columns, action[, probability]), or column:NAME, a column of the log with another
            model's choice at each event. May be repeated. Without any: constants.
        progressive: Instead of --policy: learn from the log itself, and value in each epoch the policy learned from all
            earlier ones.
        every (K): With --progressive, learn anew in every K-th epoch.
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
    from warmstart.policy import CONSTANTS, parse_policies
    from warmstart.report import ProgressDisplay, save_report

    check_kind(policy, every, progressive=progressive)
    if not policy and not progressive:
        policy = [CONSTANTS]
        typer.echo("No policy is named: each action of the log is one (--policy constants).", err=True)
    contexts = settings.contexts
    for out, other in ((html, supported_out), (supported_out, html)):
        check_paths(out, policy or [], [log.events, contexts], force=force, other=other)
    check_table(supported_out, progressive=progressive)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress, ExitStack() as resources:
        events = open_guarded(log, connected, settings.guards, settings.utility)
        progress("splitting")
        events = settings.window(events)
        if progressive:
            check_progressive(settings, windows, one_outcome=not log.also and not select)
            tau: Any = (settings.tau or ["auto"])[0]
            about: dict[str, Any] = {"every": every, "tau": tau, "delta": settings.delta, "live": settings.live}
            result: Any = pipeline.evaluate_progressively(events, on_progress=progress, **about)
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
                contributions=10 if json or html is not None else 0,
                on_support=None if supported is None else resources.enter_context(supported),
                on_progress=progress,
                **settings.arguments(named),
            )
    if select:
        result = replace(result, with_selection=True)
    selected = find_best(result) if select else None
    if html is not None:
        save_report(result, html, selection=selected, force=force)
    print_result(result, selected, json=json)
    if not progressive and not json:
        _hint_at_constants(parse_policies(policy), result)


def _hint_at_constants(named: Sequence[NamedPolicy], result: Evaluation) -> None:
    """Say that always one action is in no row; each more policy widens joint bounds, so it is left to the user."""
    from warmstart.pipeline import MOST_CONSTANTS
    from warmstart.policy import CONSTANT, CONSTANTS

    actions, words = result.log.actions, [policy.keyword or "" for policy in named]
    if 1 < actions <= MOST_CONSTANTS and not any(word == CONSTANTS or word.startswith(CONSTANT) for word in words):
        more = f"--policy constants adds a row for each of the {actions} actions"
        typer.echo(f"No row is one action always, which often wins: {more}; joint bounds then hold for all.", err=True)


def open_guarded(log: LogSettings, engine: LocalEngine, guards: list[str] | None, utility: str | None) -> Events:
    """Open the log. A guard on an outcome that is not named, or has values outside its range, is a wrong command."""
    from warmstart.core import RewardRangeError, UsageError, quoted
    from warmstart.results import Guard, guarded_outcome

    if utility is None:
        for text in guards or ():
            Guard.parse(text, [log.reward, *(log.also or ())])
    try:
        return log.open(engine)
    except RewardRangeError as error:
        about = next((text for text in guards or () if guarded_outcome(text) == error.outcome), None)
        if about is None:
            raise
        raise UsageError(f"The guard {quoted(about)} needs a range: {error.message}", error.hint) from error


def print_result(result: Evaluation | Progressive, selected: Selection | None, *, json: bool) -> None:
    """Print a result, and the policy that was selected, if that was asked for: as one JSON object, or for people."""
    from warmstart.report import show

    if json:
        typer.echo(result.to_json())
    else:
        show(result.tables, [*([] if selected is None else [str(selected)]), *result.notes], result.headline)


def check_kind(policy: list[str] | None, every: int, *, progressive: bool) -> None:
    """Refuse policies with --progressive."""
    from warmstart.core import UsageError

    if policy and progressive:
        raise UsageError("--progressive learns its policies itself.", "Leave out --policy, or --progressive.")
    if every != 1 and not progressive:
        raise UsageError("--every is for --progressive.", "Leave it out.")


def check_table(out: Path | None, *, progressive: bool) -> None:
    """Refuse a table of supported choices with another ending than .csv or .parquet, or of policies that change."""
    from warmstart.core import UsageError

    if out is not None and progressive:
        raise UsageError("--supported-out is for --policy.", "Leave it out.")
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--supported-out writes .csv or .parquet, not '{out.suffix}'.")


def check_progressive(settings: EvaluateSettings, windows: WindowSettings, *, one_outcome: bool) -> None:
    """Refuse what progressive evaluation does not do."""
    from dataclasses import replace

    from warmstart.core import UsageError

    own = EvaluateSettings(tau=(settings.tau or ["auto"])[:1], delta=settings.delta, live=settings.live)
    counted = settings.propensities in ("auto", "counts")
    plain = replace(
        settings, tau=settings.tau or ["auto"], propensities="auto", contexts=None, until=None, first_epochs=False
    )
    if not (one_outcome and counted and plain == own and windows == WindowSettings()):
        raise UsageError(
            "--progressive takes one tau, one outcome, counts and bets, the whole log, and selects nothing.",
            "Leave out the options of policies, outcomes, segments, propensities, estimators and windows.",
        )
