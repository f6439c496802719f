"""Learn the best policy that a training window supports: the paper's steps 2 and 3."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.core.errors import EmptyWindowError, UsageError
from warmstart.core.names import ACTION, REWARD, TIME
from warmstart.core.progress import Progress, silent
from warmstart.engine import is_partitioned
from warmstart.engine.sources import describe
from warmstart.events import Events, open_cells
from warmstart.features import Side, read_side
from warmstart.pipeline.fit_distributed import DistributedFit
from warmstart.pipeline.fitted import Fitted, held_out, or_themselves, side_report
from warmstart.policy import FittedPolicy, RankingInMemory
from warmstart.reward import (
    CELL_PASSES,
    Examples,
    FitSettings,
    Learned,
    Learner,
    Numbering,
    event_stream,
    ranked,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from warmstart.engine import Engine
    from warmstart.reward.product import Stream


def fit(
    events: Events,
    *,
    contexts: Any = None,
    actions: Any = None,
    fit_tau: float | Literal["auto"] = "auto",
    learn_from: Literal["cells", "events"] = "cells",
    loss: Literal["squared", "logistic"] = "squared",
    rates: Sequence[float] | None = None,
    cross_only: bool = False,
    weight_bits: int = 24,
    min_events: int = 1,
    min_propensity: float = 0.0,
    strict: bool = False,
    model: Any = None,
    seed: int = 0,
    threads: int | None = None,
    on_progress: Progress = silent,
) -> FittedPolicy:
    """Learn what actions earn, with weights 1 / max(propensity, fit_tau), and rank the feasible ones of every context.

    ``contexts`` and ``actions`` are tables keyed as in the log; their other columns (text, lists of words, categories,
    numbers) become features, whose products the model is linear in. What ids alone can tell is kept as exact factors on
    top, unless ``cross_only`` asks for the paper's pure product. ``fit_tau`` is 1 for no weights; ``"auto"`` chooses by
    the value on the last fifth of the window. ``learn_from="events"`` is the paper's single pass in time order.
    ``model`` is any regressor with scikit-learn's ``fit(X, y, sample_weight)`` and ``predict``. An action is feasible
    in a context with ``min_events`` and ``min_propensity``. The same seed learns the same, unless several ``threads``
    are asked for, which then share one table. ``on_progress`` is called with the
    step, its share and a detail.
    """
    settings = FitSettings(
        fit_tau=fit_tau,
        learn_from=learn_from,
        loss=loss,
        rates=None if rates is None else tuple(rates),
        cross_only=cross_only,
        weight_bits=weight_bits,
        min_events=min_events,
        min_propensity=min_propensity,
        strict=strict,
        seed=seed,
        threads=threads,
    )
    _check_call(events, model, learn_from)
    on_progress("summing events into cells")
    tables = (contexts, actions)
    if is_partitioned(events.engine):
        if learn_from == "events" or model is not None:
            what = "A model of your own" if model is not None else "One pass over events in time order"
            raise UsageError(f"{what} learns on one machine only.", "Read the log with engine='duckdb'.")
        found = DistributedFit(events.engine, events, settings, on_progress).run(tables)
    else:
        found = _fit_here(events, tables, settings, model, on_progress)
    a = found.action_side
    return FittedPolicy(
        columns=events.columns,
        window=events.window,
        ranked=found.ranked,
        model=found.model,
        context_settings=found.contexts,
        action_settings=a.settings,
        actions=found.actions.keys[ACTION].combine_chunks(),
        action_rows=a.rows,
        factors=found.factors,
        lowest=found.lowest,
        folds=events.folds,
        report={
            "events": found.events,
            "cells": found.cells,
            "contexts": found.context_report,
            "actions": _side_report(a, found.actions),
            "learned_from": learn_from,
            "fit_tau": found.tau,
            "fit_taus_tried": found.tried,
            "rate": None if found.model is None else found.model.rate,
            "training_loss": None if found.model is None else found.model.training_loss,
            "seed": seed,
            "sources": {
                name: None if source is None else describe(source)
                for name, source in (("log", events.log.origin), ("contexts", contexts), ("actions", actions))
            },
        },
    )


def _fit_here(events: Events, tables: tuple[Any, Any], settings: FitSettings, model: Any, report: Progress) -> Fitted:
    """Learn in this process, with the cells in its memory."""
    with open_cells(events) as cells:
        examples, context_numbers, action_numbers = Examples.of_cells(cells)
        engine = cells.engine
    if not examples.reward_sum.sum() > 0:
        raise EmptyWindowError("No event of the training window has a reward: there is nothing to learn.")
    numbers = (context_numbers, action_numbers)
    x, a = _read_sides(engine, events, tables, numbers, settings=settings, report=report)
    learner = Learner(x.rows, a.rows, settings, model)
    tau, tried = _fit_tau(events, learner, numbers, settings, report)
    by_event = settings.learn_from == "events"
    learned = learner.learn(
        examples,
        tau,
        events=_events_in_time(events, examples, numbers, tau) if by_event else None,
        passes=1 if by_event else CELL_PASSES,
        on_progress=_with_speed(report, len(events) if by_event else CELL_PASSES * len(examples)),
    )
    return Fitted(
        ranked=RankingInMemory(_ranking(events, examples, numbers, learned, settings)),
        model=learned.model,
        contexts=x.settings,
        context_report=_side_report(x, context_numbers),
        actions=action_numbers,
        action_side=a,
        factors=learned.credibility.actions,
        lowest=learned.credibility.lowest,
        tau=tau,
        tried=tried,
        events=int(examples.n.sum()),
        cells=len(examples),
    )


def _with_speed(report: Progress, examples: int) -> Progress:
    """Report also how many examples a second are learned from."""
    start = time.perf_counter()

    def report_speed(step: str, share: float | None = None, detail: str = "") -> None:
        speed = (share or 0.0) * examples / max(time.perf_counter() - start, 1e-9)
        report(step, share, f"{detail}, {speed:,.0f} a second")

    return report_speed


def _read_sides(
    engine: Engine,
    events: Events,
    tables: tuple[Any, Any],
    numbers: tuple[Numbering, Numbering],
    *,
    settings: FitSettings,
    report: Progress,
) -> tuple[Side, Side]:
    given = events.columns.fixed_to_given
    keys = ({key: given[key] for key in events.columns.context_keys}, {ACTION: given[ACTION]})
    sides = []
    described = (tables[0], or_themselves(tables, events, numbers[1], settings))
    for i, (what, source) in enumerate(zip(("contexts", "actions"), described, strict=True)):
        report(f"reading features of {what}")
        sides.append(
            read_side(
                engine,
                source,
                keys[i],
                numbers[i],
                bits=settings.bits[i],
                cross_only=settings.cross_only,
                strict=settings.strict,
                what=f"the table of {what}",
            )
        )
    return sides[0], sides[1]


def _fit_tau(
    events: Events, learner: Learner, numbers: tuple[Numbering, Numbering], settings: FitSettings, report: Progress
) -> tuple[float, dict[str, float]]:
    """Return the fit's tau and, if it was chosen, the values of those tried. Without times nothing can be held out."""
    if settings.fit_tau != "auto":
        return float(settings.fit_tau), {}
    report("choosing the fit's tau")
    windows = held_out(events)
    if windows is None:
        return 1.0, {}
    slices = []
    for window in windows:
        with open_cells(window) as cells:
            slices.append(Examples.of_cells(cells, numbers)[0])
    early, late = slices
    return learner.choose_tau(early, late, report)


def _events_in_time(events: Events, examples: Examples, numbers: tuple[Numbering, Numbering], tau: float) -> Stream:
    table = events.table
    ordered = table.order_by(TIME) if TIME in table.columns else table
    found = events.engine.fetch_arrow(ordered.select(*events.columns.context_keys, ACTION, REWARD))
    x, a = (numbering.numbers(found) for numbering in numbers)
    return event_stream(examples, x, a, to_numpy(found[REWARD]), tau)


def _ranking(
    events: Events,
    examples: Examples,
    numbers: tuple[Numbering, Numbering],
    learned: Learned,
    settings: FitSettings,
) -> pa.Table:
    """Rank the feasible actions of every context."""
    import pyarrow as pa

    chosen, rank = ranked(examples, learned.scores, settings)
    if not len(chosen):
        raise EmptyWindowError("No action is feasible anywhere.", "Ask for fewer events or a lower propensity.")
    context, action = examples.contexts[chosen], examples.actions[chosen]
    given = events.columns.fixed_to_given
    keys = {given[key]: numbers[0].keys[key].take(to_arrow(context)) for key in events.columns.context_keys}
    actions = {given[ACTION]: numbers[1].keys[ACTION].take(to_arrow(action))}
    return pa.table({**keys, **actions, "rank": to_arrow(rank), "score": to_arrow(learned.scores[chosen])})


def _side_report(side: Side, numbers: Numbering) -> dict[str, Any]:
    rows = side.rows
    return side_report(side.settings, known=len(numbers), without=side.without, features=rows.names, used=rows.used)


def _check_call(events: Any, model: Any, learn_from: str) -> None:
    if not isinstance(events, Events):
        raise UsageError("fit learns from a log that was read.", "Pass what read_events or split returned.")
    if learn_from == "events" and events.engine.remote:
        raise UsageError(
            "Events do not leave the database that they are in.",
            "Learn from cells, or export the log to Parquet for a pass over events.",
        )
    if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise UsageError("The model must have fit(X, y, sample_weight=...) and predict(X).")
    taken = {"rank", "score"} & {*events.columns.context, events.columns.action}
    if taken:
        raise UsageError(f"A context or action column called {sorted(taken)[0]!r} is in the way.", "Rename it.")
