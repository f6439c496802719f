"""Compare where propensities could come from, on events held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from warmstart.core import (
    ACTION,
    DECIDED,
    FOLD,
    PROBABILITY,
    PROPENSITY,
    Progress,
    UsageError,
    quoted,
    silent,
    to_numpy,
)
from warmstart.engine import float_literal
from warmstart.estimators import judge_weights
from warmstart.events import Events, Strata, open_cells, open_strata
from warmstart.pipeline.checks import check_coarser, check_events
from warmstart.pipeline.sources import check_folds, context_levels
from warmstart.propensity import best_strengths, borrowed_propensity, learn_epochs, with_own_epoch, with_predictions
from warmstart.results import REFERENCES, ComparedSource, PropensityComparison

if TYPE_CHECKING:
    from warmstart.propensity import Epoching
    from warmstart.results import Alarms

ALL = ("uniform", "shares", "counts", "back-off", "model", "mixture", "logged")


def compare_propensities(
    events: Events,
    sources: Sequence[Any] | None = None,
    *,
    coarser: Sequence[Sequence[str]] = (),
    seed: int = 0,
    on_progress: Progress = silent,
) -> PropensityComparison:
    """Rank sources of propensities by the log-loss of what was shown, on events that they never saw.

    Calibration and the two alarms (mean weight and balance of contexts, for the policy that chooses uniformly among
    all actions) stand beside it and have no say: a source chosen by its alarms would have disarmed them.

    Args:
        events: The log, or a window of it.
        sources: Of "counts", "back-off" (to the ``coarser`` contexts, and behind them the action's share), "model",
            "mixture" (over the epochs that the log was read with, or those that fit best), "logged", a scikit-learn
            classifier; and, to have something to compare with, "shares" (an action's share of all events) and
            "uniform" (over all actions). By default all that the log allows.
        coarser: Lists of context columns to back off to, most specific first.
        seed: Of folds and samples.
        on_progress: Called with the step that begins.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "q"] * 500, "ad": ["a", "b"] * 500, "click": [1, 0] * 500, "i": range(1000)})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click", event_id="i")
    >>> ws.compare_propensities(events, ["shares", "counts"]).best
    'counts'
    """
    check_events(events)
    check_coarser(coarser, events)
    logged = events.columns.propensity is not None
    lacking = {"logged"} if not logged else set()
    lacking |= {"mixture"} if events.columns.time is None and events.log.epochs is None else set()
    asked = [name for name in ALL if name not in lacking] if sources is None else list(sources)
    for name in asked:
        if not hasattr(name, "predict_proba") and (name not in ALL or name in lacking):
            raise UsageError(
                f"Propensities cannot come from {quoted(name)} here.",
                f"Choose among {', '.join(one for one in ALL if one not in lacking)}, or pass a classifier.",
            )
    on_progress("summing events into cells")
    with open_cells(events) as cells, open_strata(cells, seed=seed, by_propensity=logged) as strata:
        check_folds(strata)
        levels = context_levels(cells.columns, coarser)
        compared = []
        for name in asked:
            on_progress(f"learning propensities: {name if isinstance(name, str) else type(name).__name__}")
            compared.append(_compared(name, strata, levels, seed))
    # Of equals, those that an evaluation takes.
    ranked = sorted(compared, key=lambda one: (one.without > 0, one.log_loss, one.name in REFERENCES))
    return PropensityComparison(tuple(ranked), len(events))


def _compared(source: Any, strata: Strata, levels: list[list[str]], seed: int) -> ComparedSource:
    """Return how one source does: its log-loss and alarms where the strata are, its calibration on a sample of them."""
    from warmstart.propensity import calibration

    engine, table = strata.cells.engine, strata.table
    kinds = int(engine.fetch(table.agg(kinds=table[ACTION].nunique()))[0]["kinds"])
    name = source if isinstance(source, str) else type(source).__name__
    learned: Any = None
    epoching: Epoching | None = None
    if source == "uniform":
        weighed = replace(strata, table=table.mutate(**{PROPENSITY: float_literal(1) / kinds}))
    elif source == "logged":
        weighed = strata
    else:
        rows = strata.to_learn_from()
        contexts = rows.select(list(strata.cells.columns.context_keys))
        given = contexts, rows[ACTION], to_numpy(rows["n"]), to_numpy(rows[FOLD]).astype(np.int64)
        learned, epoching, strengths = _learned(source, strata, levels, given, seed)
        if strengths is None:
            weighed = with_own_epoch(with_predictions(strata, learned), epoching)
        else:
            weighed = replace(strata, table=borrowed_propensity(_bare(table), levels, strengths))
    loss, without = _log_loss(weighed)
    fits = None if learned is None else calibration(learned, *given, seed=seed)
    return ComparedSource(
        name=name,
        log_loss=loss,
        without=without,
        calibration=None if fits is None else fits.error,
        noise=None if fits is None else fits.noise,
        # A uniform policy has weights of 1 under uniform propensities, whatever the truth.
        alarms=None if source == "uniform" else _alarms(weighed, kinds),
        detail="" if epoching is None else epoching.detail.strip(),
    )


def _learned(
    source: Any, strata: Strata, levels: list[list[str]], given: Any, seed: int
) -> tuple[Any, Epoching | None, Any]:
    """Return a model of all actions' propensities, its epochs, and the strengths of back-off."""
    from warmstart.propensity import CountedRows, learn_propensity

    if source == "mixture":
        model, epoching = learn_epochs(strata, seed=seed)
        return model, epoching, None
    if source == "back-off":
        strengths, _ = best_strengths(strata.cells.engine, _bare(strata.table), levels)
        return CountedRows.learn(*given, levels=levels, strengths=strengths), None, strengths
    if source in ("shares", "counts"):
        used = [] if source == "shares" else levels
        return CountedRows.learn(*given, levels=used, strengths=() if source == "shares" else None), None, None
    return learn_propensity(*given, model=None if source == "model" else source, seed=seed), None, None


def _bare(table: Any) -> Any:
    return table.drop(PROPENSITY) if PROPENSITY in table.columns else table


def _log_loss(strata: Strata) -> tuple[float, float]:
    """Return the mean of -log(propensity) of what was shown, and the share of events without a propensity."""
    n, p = strata.table.n, strata.table[PROPENSITY]
    known = p.notnull().ifelse(n, 0.0).sum()
    # A propensity of zero of what was shown is wrong beyond measure, and not beyond arithmetic.
    sums = {"known": known, "loss": -(n * ibis.greatest(p, ibis.literal(1e-12)).ln()).sum(), "events": n.sum()}
    totals = strata.cells.engine.fetch(strata.table.agg(**sums))[0]
    events = float(totals["known"])
    # Where all propensities are 1 the sum is a zero below zero.
    return (max(0.0, float(totals["loss"]) / events) if events else np.nan), 1 - events / float(totals["events"])


def _alarms(strata: Strata, kinds: int) -> Alarms:
    """Return the alarms of the uniform policy: of it, what was shown is all that its weights need."""
    rows, keys = strata.table, strata.cells.columns.context_keys
    uniform = {PROBABILITY: float_literal(1) / kinds, DECIDED: float_literal(1), "traffic": rows.n}
    judged = rows.select(*keys, "n", PROPENSITY, **uniform)
    names = dict(zip(keys, strata.cells.columns.context, strict=True))
    own = strata.own_epoch
    own = None if own is None else own.mutate(**{PROBABILITY: float_literal(1) / kinds})
    return judge_weights(strata.cells.engine, judged, float(len(strata.cells.evaluated)), names, own)
