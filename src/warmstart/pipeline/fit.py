"""Learn the best policy that a training window supports (off-policy learning): the paper's steps 2 and 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from warmstart.core import ACTION, REWARD, TIME, Progress, UsageError, silent, to_arrow, to_numpy
from warmstart.engine import is_partitioned
from warmstart.events import Events, Utility, maximized, open_cells, with_utility
from warmstart.features import KeyEncoder, read_features
from warmstart.kernels import check_device
from warmstart.pipeline.departure import departure_of
from warmstart.pipeline.fit_distributed import DistributedFit
from warmstart.pipeline.fitted import Fit, check_feasible, check_rewards
from warmstart.policy import FittedPolicy, RankingInMemory
from warmstart.results import fields_of
from warmstart.reward import (
    BLEND,
    CELL_PASSES,
    FIT_TAUS,
    Budget,
    Division,
    Examples,
    FitSettings,
    Halves,
    Learner,
    ModelName,
    Shares,
    Stream,
    Trial,
    choose_model,
    event_stream,
    learned_later,
    rank_feasible,
    with_rewards,
)


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
    weight_bits: int | None = None,
    min_events: int = 1,
    min_propensity: float = 0.0,
    strict: bool = False,
    model: Any = "product",
    time_budget: float | None = None,
    seed: int = 0,
    learn_threads: int | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    safe: bool = False,
    proof_fraction: float = 0.5,
    delta: float = 0.05,
    guards: Sequence[str] = (),
    doubt: float | None = None,
    utility: str | None = None,
    on_progress: Progress = silent,
) -> FittedPolicy:
    """Learn a policy: a reward model with weights 1 / max(propensity, fit_tau), and a ranking of feasible actions.

    A reward that was read with ``minimize`` is made small: what is learned and scored is the rest of its range.
    Features of contexts and actions are crossed, and the model is linear in their products. Ids add exact factors on
    top. The same seed learns the same, unless several ``learn_threads`` are requested, which then share one table.

    Args:
        events: the training window.
        contexts: a table keyed as in the log; its other columns (text, lists of words, categories, numbers) become
            features.
        actions: the same for actions.
        fit_tau: the clipping constant of the weights, 1 for no weights; ``"auto"`` chooses by the value on the last
            fifth of the window.
        learn_from: cells, or events: the paper's single pass in time order.
        loss: squared or logistic.
        rates: learning rates to try.
        cross_only: the paper's pure product, without linear terms and factors of ids.
        weight_bits: the model has 2^weight_bits weights. Without it, 24 bits, and up to 26 where contexts have many
            words or categories.
        min_events: an action is feasible in a context from so many events on.
        min_propensity: and from this propensity on.
        strict: refuse feature tables that lack a context or action of the log.
        model: the kind of reward model. ``"product"``: linear in products of features (the paper's). ``"low-rank"``:
            groups of contexts and of actions by their words and categories, and a factor for each pair of groups.
            ``"logistic"``: a regression of the context's features for every action. ``"trees"``: boosted trees on
            numbers and categories. ``"cells"``: shrunk means.
            ``"auto"``: the best of them on the last fifth of the window, or a blend of several. Or a scikit-learn
            regressor, cloned; its ``fit`` takes ``sample_weight``.
        time_budget: with ``"auto"``, seconds for comparing kinds and learning the best; kinds that would take longer
            are left out, which the report says.
        seed: of every random choice.
        learn_threads: how many threads learn; the engine's are those of ``connect``.
        device: where ``"product"`` learns, and chooses among all actions: ``"cpu"``, or ``"cuda"``, a GPU, for which
            CuPy is needed. ``"auto"`` is the CPU as long as no GPU has run the kernels. On a GPU results repeat but for
            rounding.
        safe: depart from logging only where a gain is proven on events that did not propose it, and defer to logging
            elsewhere: there ``choose`` returns None, and ``evaluate`` counts what logging earned.
        proof_fraction: the share of the window that proves what the rest proposes, by unit where the log has units,
            else by time, and the later events prove.
        delta: the safe policy is worse than logging with at most this probability, on the traffic that proved it.
        guards: limits on outcomes that it must be proven to keep too, as for ``evaluate``.
        doubt: what the proof allows a hidden segment to do, as for ``evaluate``.
        utility: a weighted sum of outcomes to learn, and to prove, in the place of the reward: "quality - 50*cost".
        on_progress: called with the step, its share and a detail.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "q"] * 200, "ad": ["a", "a", "b", "b"] * 100, "click": [1, 0, 0, 1] * 100})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> policy = ws.fit(events, model="cells")
    >>> sorted((row["page"], row["ad"]) for row in policy.decisions.to_pylist())
    [('p', 'a'), ('q', 'b')]
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
        threads=learn_threads,
        model=model if isinstance(model, str) else "product",  # type: ignore[arg-type]
        time_budget=time_budget,
        device=device,
    )
    regressor = None if isinstance(model, str) else model
    _check_call(events, regressor, settings)
    events = events if utility is None else with_utility(events, None, Utility.parse(utility))[0]
    learn = partial(_fit, tables=(contexts, actions), settings=settings, regressor=regressor, on_progress=on_progress)
    if not safe:
        if guards or doubt is not None:
            raise UsageError("guards and doubt are of what is proven.", "Ask for it: safe=True (--safe).")
        return learn(events)
    from warmstart.pipeline.safe import SafeSettings, fit_safely

    proof = SafeSettings.checked(proof_fraction, delta, guards, doubt, settings)
    featured = contexts is not None or actions is not None
    return fit_safely(events, proof, learn, featured=featured, report=on_progress)


def _fit(
    events: Events, *, tables: tuple[Any, Any], settings: FitSettings, regressor: Any, on_progress: Progress
) -> FittedPolicy:
    """Fit a policy here, or where the events are."""
    events = maximized(events)
    on_progress("summing events into cells")
    if not is_partitioned(events.engine):
        return LocalFit(events, settings, tables, on_progress, regressor).run()
    if settings.learn_from == "events" or regressor is not None or settings.model != "product":
        what = "A model of your own" if regressor is not None else "One pass over events in time order"
        what = what if settings.model == "product" else f"model={settings.model!r}"
        raise UsageError(f"{what} learns on one machine only.", "Read the log with engine='duckdb'.")
    return DistributedFit(events, settings, tables, on_progress, events.engine).run()


@dataclass(frozen=True, eq=False)
class LocalFit(Fit):
    """Learns in this process, with the cells in its memory; ``regressor``: one of scikit-learn's to learn with."""

    regressor: Any

    def run(self) -> FittedPolicy:
        """Learn the policy."""
        events, settings = self.events, self.settings
        with open_cells(events) as cells:
            examples, contexts, actions = Examples.of_cells(cells)
            engine = cells.engine
        check_rewards(float(examples.reward_sum.sum()))
        self.report("reading features of contexts")
        x = read_features(engine, self.tables[0], keys=contexts, **self.context_options)
        a = self.read_action_features(engine, actions)
        settings = replace(settings, sides=(x.settings.bits, a.settings.bits))

        def learner_of(kind: ModelName) -> Learner:
            return Learner(x.rows, a.rows, replace(settings, model=kind), self.regressor)

        windows = [self._cells_of(window, (contexts, actions)) for window in self.windows]
        divisions = self.divided(windows, learner_of("product").sample)
        kind, trial, shares, compared = self._choose_model(learner_of, divisions, examples)
        # The fit's tau of a blend is that of its largest part.
        tau = self.choose_tau(learner_of(kind), divisions, trial)
        learner = replace(learner_of(kind), shares=shares) if shares else learner_of(kind)
        halves = Halves() if trial is None else trial.halves
        by_event = settings.learn_from == "events"
        learned = learner.learn(
            examples,
            tau[0],
            events=self._events_in_time(examples, contexts, actions, tau[0]) if by_event else None,
            passes=1 if by_event else CELL_PASSES,
            halves=halves,
            on_progress=_with_speed(self.report, len(events) if by_event else CELL_PASSES * len(examples)),
        )
        chosen, rank = rank_feasible(examples, learned.scores, settings)
        check_feasible(len(chosen))
        keys = contexts.keys.take(to_arrow(examples.contexts[chosen])).columns
        columns = [*keys, actions.values.take(to_arrow(examples.actions[chosen]))]
        names = [*events.columns.context, events.columns.action, "rank", "score"]
        ranking = pa.table([*columns, to_arrow(rank), to_arrow(learned.scores[chosen])], names=names)
        departure = departure_of(examples, learned, chosen[rank == 1], actions.values)
        counts = {"events": int(examples.n.sum()), "cells": len(examples), "contexts": x.report()}
        counts |= {
            "departure": fields_of(departure),
            "model": None if self.regressor is not None else BLEND if shares else kind,
        }
        counts |= {"shares": shares} if shares else {}
        counts |= compared
        ranked = RankingInMemory(ranking)
        about: dict[str, Any] = {"context_settings": x.settings, "tau": tau, "halves": halves, "counts": counts}
        return self.policy(ranked, learned, actions, a, **about)

    def _cells_of(self, window: Events, encoders: tuple[KeyEncoder, KeyEncoder]) -> Examples:
        with open_cells(window) as cells:
            return Examples.of_cells(cells, encoders)[0]

    def _choose_model(
        self, learner_of: Callable[[ModelName], Learner], divisions: list[Division], examples: Examples
    ) -> tuple[ModelName, Trial | None, Shares, dict[str, Any]]:
        """Return the kind of model, what came of trying it, shares in a blend, and for the report what was compared."""
        settings = self.settings
        if settings.model != "auto":
            return settings.model, self.tried(learner_of(settings.model), divisions), {}, {}
        if not (useful := with_rewards(divisions)):
            return "product", None, {}, {}
        # The first fit tau is that of the trials.
        taus = len(FIT_TAUS) - 1 if settings.fit_tau == "auto" and self.held_out is not None else 0
        budget = Budget(settings.time_budget, learned_later(examples, useful, taus))
        chosen = choose_model(learner_of, useful, tau=self.first_tau, budget=budget, on_progress=self.report)
        tried = {name: fields_of(one) for name, one in chosen.tried.items()}
        return chosen.kind, chosen.trial, chosen.shares, {"models_compared_by": chosen.by, "models_tried": tried}

    def _events_in_time(self, examples: Examples, contexts: KeyEncoder, actions: KeyEncoder, tau: float) -> Stream:
        table = self.events.table
        ordered = table.order_by(TIME) if TIME in table.columns else table
        rows = self.events.engine.fetch_arrow(ordered.select(*self.events.columns.context_keys, ACTION, REWARD))
        return event_stream(examples, contexts.numbers(rows), actions.numbers(rows), to_numpy(rows[REWARD]), tau)


def _with_speed(report: Progress, examples: int) -> Progress:
    """Return a callback that also reports how many examples a second are learned from."""
    start = time.perf_counter()

    def report_speed(step: str, share: float | None = None, detail: str = "") -> None:
        speed = (share or 0.0) * examples / max(time.perf_counter() - start, 1e-9)
        report(step, share, f"{detail}, {speed:,.0f} a second")

    return report_speed


def _check_call(events: Any, model: Any, settings: FitSettings) -> None:
    if not isinstance(events, Events):
        raise UsageError("fit learns from a log that was read.", "Pass what read_events or split returned.")
    if settings.learn_from == "events" and events.engine.remote:
        raise UsageError(
            "Events do not leave the database that they are in.",
            "Learn from cells, or export the log to Parquet for a pass over events.",
        )
    if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise UsageError("The model must have fit(X, y, sample_weight=...) and predict(X).")
    _check_options(model, settings)
    if settings.device == "cuda" and (why := _not_on_gpu(events, model, settings)):
        raise UsageError(f"{why} learns on CPUs.", "A GPU is for model='product' and a log that was read with DuckDB.")
    check_device(settings.device)
    taken = {"rank", "score"} & {*events.columns.context, events.columns.action}
    if taken:
        raise UsageError(f"A context or action column called {sorted(taken)[0]!r} is in the way.", "Rename it.")


def _check_options(model: Any, settings: FitSettings) -> None:
    """Refuse options that the model would ignore."""
    asked = (
        ("rates", settings.rates is not None, ("product", "auto")),
        ("loss='logistic'", settings.loss == "logistic", ("product", "auto")),
        ("learn_from='events'", settings.learn_from == "events", ("product",)),
        ("time_budget", settings.time_budget is not None, ("auto",)),
    )
    kind = settings.model if model is None else ""
    name = f"model={kind!r}" if model is None else "a model of your own"
    for option, given, kinds in asked:
        if given and kind not in kinds:
            raise UsageError(f"{option} is for model={kinds[0]!r}, and not for {name}.", "Leave it out.")


def _not_on_gpu(events: Events, model: Any, settings: FitSettings) -> str | None:
    """Return what cannot learn on a GPU, if anything."""
    if is_partitioned(events.engine):
        return "A cluster"
    if model is not None:
        return "A model of your own"
    return None if settings.model in ("product", "auto") else f"model={settings.model!r}"
