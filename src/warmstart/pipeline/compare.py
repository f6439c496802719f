"""Compare where propensities could come from, on events held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import ACTION, FOLD, PROPENSITY, UsageError, quoted, to_numpy
from warmstart.events import Events, open_cells, open_strata
from warmstart.pipeline.checks import check_coarser, check_events
from warmstart.pipeline.sources import check_folds, context_levels
from warmstart.propensity import best_strength, check_logged
from warmstart.results import ComparedSource, PropensityComparison

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

ALL = ("uniform", "shares", "counts", "back-off", "model", "logged")


def compare_propensities(
    events: Events, sources: Sequence[Any] | None = None, *, coarser: Sequence[Sequence[str]] = (), seed: int = 0
) -> PropensityComparison:
    """Rank sources of propensities by the log-loss of what was shown, on folds that they never saw.

    ``sources``: of "counts", "back-off" (to the ``coarser`` contexts, and behind them the action's share), "model",
    "logged", a scikit-learn classifier; and, to have something to compare with, "shares" (an action's share of all
    events) and "uniform" (over all actions). By default all that the log allows.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "q"] * 500, "ad": ["a", "b"] * 500, "click": [1, 0] * 500, "i": range(1000)})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click", event_id="i")
    >>> ws.compare_propensities(events, ["shares", "counts"]).best
    'counts'
    """
    check_events(events)
    check_coarser(coarser, events)
    logged = events.columns.propensity is not None
    asked = [name for name in ALL if name != "logged" or logged] if sources is None else list(sources)
    for name in asked:
        if not hasattr(name, "predict_proba") and (name not in ALL or (name == "logged" and not logged)):
            raise UsageError(f"Propensities cannot come from {quoted(name)} here.", f"Choose among {', '.join(ALL)}.")
    with open_cells(events) as cells, open_strata(cells, seed=seed, by_propensity=logged) as strata:
        check_folds(strata)
        levels = context_levels(cells.columns, coarser)
        found = [_compared(name, cells.engine, strata.table, levels, seed) for name in asked]
    ranked = sorted(found, key=lambda source: (source.without > 0, source.log_loss))
    return PropensityComparison(tuple(ranked), len(events))


def _compared(source: Any, engine: Engine, strata: ir.Table, levels: list[list[str]], seed: int) -> ComparedSource:
    from warmstart.propensity import CountedRows, calibration, learn_propensity, log_loss, shown_propensity

    if source == "logged":
        return ComparedSource("logged", check_logged(engine, strata).log_loss, 0.0)
    bare = strata.drop(PROPENSITY) if PROPENSITY in strata.columns else strata
    found = engine.fetch_arrow(bare.order_by(bare.columns))
    contexts = found.select([name for name in found.column_names if name.startswith("context_")])
    actions, n, folds = found[ACTION], to_numpy(found["n"]), to_numpy(found[FOLD]).astype(np.int64)
    if source == "uniform":
        kinds = len(actions.unique())
        return ComparedSource("uniform", float(np.log(kinds)), 0.0)
    model: Any
    if source in ("shares", "counts", "back-off"):
        strength = {"shares": 0.0, "counts": None}.get(source, 0.0)
        if source == "back-off":
            strength, _ = best_strength(engine, bare, levels)
        used = [] if source == "shares" else levels
        model = CountedRows.learn(contexts, actions, n, folds, levels=used, strength=strength)
    else:
        model = learn_propensity(contexts, actions, n, folds, model=None if source == "model" else source, seed=seed)
    loss = log_loss(shown_propensity(model, contexts, actions, folds), n)
    fits = calibration(model, contexts, actions, n, folds, seed=seed)
    name = source if isinstance(source, str) else type(source).__name__
    return ComparedSource(name, loss.log_loss, loss.without, fits.error, fits.noise)
