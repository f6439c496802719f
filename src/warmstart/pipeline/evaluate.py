"""The hall: the only file that knows the order of the steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from warmstart.core import (
    ACTION,
    Moment,
    Outcome,
    Progress,
    WindowName,
    __version__,
    silent,
)
from warmstart.events import (
    Cells,
    Events,
    Utility,
    days_known,
    epochs_known,
    in_one_engine,
    open_cells,
    per_unit,
    with_utility,
)
from warmstart.pipeline.assumptions import LogChecks, evaluation_assumptions
from warmstart.pipeline.checks import (
    check_amounts,
    check_coarser,
    check_epochs,
    check_events,
    check_level,
    check_per,
    check_uniform,
    checked_taus,
    feasible_window,
)
from warmstart.pipeline.constants import with_constants
from warmstart.pipeline.each_policy import value_each
from warmstart.pipeline.known_before import known_levels
from warmstart.pipeline.prepare import EvaluationInputs, Learning, prepare
from warmstart.pipeline.remarks import evaluation_remarks
from warmstart.pipeline.segments import Narrow, list_segments, segment_columns
from warmstart.pipeline.sources import may_count
from warmstart.pipeline.supported import OnSupport, check_supported
from warmstart.pipeline.trained import training_of
from warmstart.pipeline.valuing import Asked, Valued, Valuing
from warmstart.policy import parse_policies
from warmstart.results import Evaluation, Guard, IntervalName, LogSummary, Tau, Windows


def evaluate(
    policies: Any,
    events: Events,
    *,
    train: Events | None = None,
    tau: Tau | Iterable[Tau] = "auto",
    delta: float = 0.05,
    interval: IntervalName = "bets",
    feasible_from: WindowName | None = None,
    live: bool = True,
    propensities: Any = "auto",
    coarser: Sequence[Sequence[str]] = (),
    estimators: Sequence[str] = ("dr",),
    reward_model: Any = None,
    contributions: int = 0,
    name_texts: bool = False,
    until: Moment | None = None,
    trained_until: Any = None,
    allow_unknown_actions: bool = False,
    per: Literal["event", "unit"] = "event",
    guards: Sequence[str] = (),
    utility: str | None = None,
    by: str | Sequence[str] = (),
    contexts: Any = None,
    margin: float | None = None,
    doubt: float | None = None,
    on_support: OnSupport | None = None,
    on_progress: Progress = silent,
) -> Evaluation:
    """Estimate what policies would have earned on the events of a window: off-policy (counterfactual) evaluation.

    Args:
        policies: One policy, a list, or a mapping from names. Each is ``"logging"``, ``"uniform"`` (over the actions
            feasible in the context), ``"uniform-all"`` (over all live actions), ``"constant:ACTION"``, ``"constants"``
            (one for every action of the window, up to 12), a file or a frame of decisions, what ``fit`` returned, or a
            folder that it wrote; ``"column:NAME"``, a column of the log with another model's choice at each event; or
            Python code: a function of a frame of contexts, a model with ``predict``, an object with the protocol
            ``Policy``, or a dict from contexts to actions.
        events: The window to evaluate on.
        train: The window that feasible actions come from, if there is one.
        tau: The floor of the propensity (clipping constant), one or several. "auto" chooses one for each policy,
            without a look at the evaluated rewards.
        delta: The share of confidence intervals that may miss; 0.05 gives 95 % intervals.
        interval: The confidence interval: bets, kl, hoeffding, bernstein, gamma or bootstrap.
        feasible_from: The window whose actions ``uniform`` may choose: train (if there is one), evaluated or all.
        live: Whether ``uniform`` and learned policies choose each day among the actions that could be shown that day.
        propensities: Where the logging policy's probabilities come from. "counts" of the evaluated window, which alone
            certify bounds; counts of the "train" window or of "all" data (the paper's choice); "back-off", where rare
            contexts borrow from ``coarser`` ones; "model", or a scikit-learn classifier (cloned), of the context
            columns; "mixture", one such model for every epoch of the log; "logged". "auto" takes logged ones where
            there are any, and where contexts do not repeat a mixture, or a model of a log without several days.
        coarser: Lists of context columns to back off to, most specific first.
        estimators: Point estimates of all traffic beside the bounds: dr, shrunk-dr, switch-dr, snips, dm, ips. The
            first of these that is asked for is the best estimate, and gives the estimated gain if it is doubly robust.
        reward_model: A scikit-learn regressor (cloned) of the context columns for those that need one; by default
            shrunk cell means, or a logistic regression per action where contexts do not repeat or are numbers.
        contributions: How many of the contexts and actions that a value rests on most to name, at the first tau.
        name_texts: Whether contributions also name contexts that are free text, such as prompts: text of five words and
            more on average, or that hardly repeats. Without it these are numbered.
        until: Evaluate what was known at this moment: events before it, of epochs that had ended, if there are any.
        trained_until: When decisions were fitted on rewards of the log last: a time (like those of ``split``),
            "never", or a mapping from policies to these. No end is certified for those fitted inside the window.
        allow_unknown_actions: Whether decisions may name actions that the log never shows: unsupported traffic.
        per: "event", or "unit": every unit counts the same, however often it comes, in values and propensities alike.
        guards: Limits on what a policy may do to an outcome, against logging: ``"cost<=+2%"``, ``"click>=-0.001"``.
        utility: A weighted sum of outcomes to judge policies by, in the place of the reward: ``"quality - 50*cost"``.
        by: One or two columns to value the reward by, segment by segment: of the context, of ``contexts``, or of the
            log, which then join the context for the whole evaluation.
        contexts: A table of contexts with features, keyed as in the log: policies in Python get its columns too, and
            learned policies choose in contexts that their training never saw.
        margin: A change of the reward per event up to this makes no difference that matters: verdicts may say "same".
        doubt: Certified bounds and gains hold if, in a context, events that were shown an action would earn at most
            this many times what the others would have earned with it, or that part of it, because of a hidden segment;
            and the same of how far rewards stay below the largest.
        on_support: Called with tables, batch by batch: the contexts and actions that a policy chooses and the log
            supports, tau by tau, with probability, propensity and events.
        on_progress: Called with the step that begins.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "p", "p", "p"], "ad": ["a", "a", "b", "b"], "click": [1, 0, 1, 1]})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.evaluate(["logging", "constant:b"], events, tau=0.05)["constant:b"].value
    1.0
    """
    check_events(events, *([] if train is None else [train]))
    events = events if until is None else events.until(until)
    named = with_constants(parse_policies(policies), events)
    check_per(per, events)
    taus = checked_taus(tau)
    check_level(delta, interval, estimators)
    check_amounts(margin, doubt)
    check_coarser(coarser, events)
    by, feasible_from = _texts(by), feasible_window(feasible_from, train)
    events, train = _with_utility(events, train, utility)
    narrow = Narrow.of(events, train, segment_columns(by, events, contexts))
    events, train = narrow.extended
    limits = _guards(guards, events.log.outcomes)
    asked = Asked(taus, interval, estimators, limits, contributions, on_support, name_texts)
    training = training_of(named, trained_until, events, train)
    looks = sum(1 if policy.keyword == "logging" else len(taus) for policy in named)
    levels = replace(known_levels(delta, looks, events, train, returning=training.returning), doubt=doubt or 1.0)
    checks = LogChecks.of(events)
    if per == "unit":
        on_progress("counting the events of units")
        events, train = per_unit(events, train)
    on_progress("summing events into cells")
    live = live and days_known(events, train) and any(policy.may_be_live for policy in named)
    by_epoch = may_count(propensities) and epochs_known(events)
    # Live in an epoch is what was shown in it, so days are not asked for where counts within epochs were.
    by_day = live and not (by_epoch and propensities != "auto")
    with open_cells(events, train, live=by_day, by_epoch=by_epoch) as cells, ExitStack() as resources:
        if any(policy.keyword == "uniform" for policy in named):
            check_uniform(cells, feasible_from)
        on_progress("learning propensities and rewards")
        learn = Learning.needed(estimators, reward_model)
        inputs = prepare(cells, resources, propensities, coarser=coarser, learn=learn, rate=levels.rate)
        check_supported(on_support, named, inputs)
        summary = _summary(cells)
        check_epochs(inputs.by_epoch, interval)

        def opened(own: EvaluationInputs, resources: ExitStack) -> Valuing:
            segments = list_segments(own.cells, by, contexts)
            return Valuing.open(asked, own, levels, training, resources, learn=learn, segments=segments)

        narrow = narrow.opened(resources, live=by_day, per=per)
        again = {"requested": propensities, "coarser": coarser, "learn": learn, "rate": levels.rate}
        options: dict[str, Any] = {"allow_unknown": allow_unknown_actions, "on_progress": on_progress}
        build = partial(narrow.build, feasible_from=feasible_from, live=live, contexts=contexts, **options)
        answers = value_each(named, inputs, again, opened, build, **options)
        remarks = evaluation_remarks(inputs, training, answers, narrow.added)
    return Evaluation(
        **_gathered(answers.values()),
        by=tuple(by),
        **_about(events, train, feasible_from=feasible_from, live=live),
        log=summary,
        version=__version__,
        learned_here=training.learned,
        propensities=inputs.source,
        remarks=remarks,
        per=per,
        margin=margin,
        doubt=doubt,
        assumptions=evaluation_assumptions(checks, inputs, training, answers),
    )


def _gathered(answers: Iterable[Valued]) -> dict[str, Any]:
    """Return the answers for all policies, by what they are about."""
    listed = list(answers)
    names = {"policies": "estimates", "others": "others", "segments": "segments", "contributions": "contributions"}
    return {name: tuple(one for valued in listed for one in getattr(valued, part)) for name, part in names.items()}


def _about(events: Events, train: Events | None, *, feasible_from: WindowName, live: bool) -> dict[str, Any]:
    """Return what is valued, and on which events."""
    windows = Windows(
        evaluated=events.window,
        train=None if train is None else train.window,
        feasible_from=feasible_from,
        live=live,
        whole_log=len(events) == events.log.rows,
    )
    return {"windows": windows, "outcomes": events.log.outcomes, "reward_range": events.log.reward_range}


def _with_utility(events: Events, train: Events | None, utility: str | None) -> tuple[Events, Events | None]:
    """Put a utility in the place of the reward, if one was asked for."""
    if utility is None:
        return events, train
    train = None if train is None else in_one_engine(train, events)
    return with_utility(events, train, Utility.parse(utility))


def _guards(given: str | Sequence[str], outcomes: Sequence[Outcome]) -> list[Guard]:
    return [Guard.parse(text, [outcome.name for outcome in outcomes]) for text in _texts(given)]


def _texts(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def _summary(cells: Cells) -> LogSummary:
    table, outcomes = cells.table, cells.evaluated.log.outcomes
    totals = cells.totals
    actions = table.select(ACTION).distinct()
    kinds = cells.engine.fetch(actions.agg(actions=actions.count()))[0]["actions"]
    means = [totals["rewards"] / totals["evaluated"], *(totals[f"mean_{k}"] for k in range(1, len(outcomes)))]
    means = [one.low + one.width * (mean or 0.0) for one, mean in zip(outcomes, means, strict=True)]
    same_log = cells.train is None or cells.train.log is cells.evaluated.log
    dropped = cells.evaluated.dropped + (0 if same_log or cells.train is None else cells.train.dropped)
    return LogSummary(
        events=len(cells.evaluated) + (0 if cells.train is None else len(cells.train)),
        contexts=round(totals["contexts"]),
        actions=kinds,
        cells=totals["cells"],
        dropped=dropped,
        one_action_share=totals["alone"] / totals["evaluated"],
        unit=cells.columns.unit,
        source=cells.evaluated.log.where,
        mean_reward=means[0],
        other_means=tuple(means[1:]),
        context=tuple(cells.columns.context),
    )
