"""Choose where propensities come from, and put them beside the strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from warmstart.core import (
    FOLD,
    MICROSECONDS_PER_DAY,
    PROPENSITY,
    EmptyWindowError,
    UsageError,
    WindowName,
    quoted,
)
from warmstart.events import event_count
from warmstart.propensity import (
    best_strengths,
    borrowed_propensity,
    check_logged,
    mixture_propensity,
    modelled_propensity,
)
from warmstart.results import SOURCE_NAMES, PropensitySource, SourceName

if TYPE_CHECKING:
    from warmstart.core import Columns
    from warmstart.events import Cells, Strata

# Below this share of traffic in contexts that were seen more than once, counting has next to nothing to count.
REPEATING = 0.1
# A model needs some events to learn from.
ENOUGH = 1_000
ENOUGH_CELLS = 100
# The sources for which a log may have epochs: counts within them; models of all of it and logged propensities do
# without.
WITH_EPOCHS = ("mixture", "model", "logged", "counts")
# The sources that are counts of a window, by the window.
COUNTED: dict[str, WindowName] = {"counts": "evaluated", "train": "train", "all": "all"}


def may_count(requested: Any) -> bool:
    """Tell whether propensities may come to be counts of the evaluated window."""
    return isinstance(requested, str) and requested in ("auto", "counts")


def check_folds(strata: Strata) -> None:
    """Refuse a window whose events all fall into one fold."""
    if strata.cells.engine.fetch(strata.table.agg(folds=strata.table[FOLD].nunique()))[0]["folds"] < 2:
        raise EmptyWindowError(
            "The window has too few events to learn propensities or rewards from.",
            "Count propensities (propensities='counts') and ask for no estimators.",
        )


def is_enough(cells: Cells) -> bool:
    """Tell whether there are cells enough to learn from some what others earn."""
    return bool(cells.totals["cells"] >= ENOUGH_CELLS)


def repeating_share(cells: Cells) -> float:
    """Return the share of the evaluated traffic that lies in contexts seen more than once.

    Where units count the same, an event counts less than 1, so that events are counted anew.
    """
    evaluated = cells.evaluated
    if evaluated.units is not None:
        every = evaluated.table
        contexts = every.group_by(*cells.columns.context_keys).agg(visits=every.count(), n=event_count(every))
        again = (contexts.visits > 1).ifelse(contexts.n, 0.0).sum()
        totals = evaluated.engine.fetch(contexts.agg(again=again, events=contexts.n.sum()))[0]
        return float(totals["again"]) / float(totals["events"])
    return float(cells.totals["again"]) / float(cells.totals["evaluated"])


def contexts_repeat(cells: Cells) -> bool:
    """Tell whether enough of the evaluated traffic lies in contexts seen more than once to count by context."""
    return repeating_share(cells) >= REPEATING


def choose_source(requested: Any, cells: Cells, coarser: Sequence[Sequence[str]]) -> tuple[SourceName, str, Any]:
    """Return the source to use, why, and the user's own classifier if there is one."""
    epochs = cells.evaluated.log.epochs
    if hasattr(requested, "predict_proba"):
        return ("model" if epochs is None else "mixture"), "a classifier was given", requested
    name, reason = _fitting(cells, coarser) if requested == "auto" else _asked_for(requested, cells)
    if epochs is not None and name not in WITH_EPOCHS:
        raise UsageError(
            f"Propensities from {quoted(name)} know no epochs.",
            "Read the log without epoch (--epoch), or ask for propensities='counts' (--propensities counts), within "
            "epochs, or 'mixture'.",
        )
    return name, reason, None


def _asked_for(requested: Any, cells: Cells) -> tuple[SourceName, str]:
    """Refuse a source that does not exist, or that the log does not allow."""
    if requested not in SOURCE_NAMES:
        raise UsageError(
            f"Propensities cannot come from {quoted(requested)}.",
            f"Choose auto, {', '.join(SOURCE_NAMES)}, or pass a scikit-learn classifier.",
        )
    if requested == "logged" and cells.columns.propensity is None:
        raise UsageError(
            "The log was read without a column of propensities.", "Name it: propensity=... (--propensity)."
        )
    if requested == "train" and cells.train is None:
        raise UsageError(
            "propensities is 'train', but there is no training window.", "Split the log, or pass train=..."
        )
    if requested == "mixture" and cells.evaluated.log.epochs is None and cells.columns.time is None:
        raise UsageError(
            "A mixture of propensity models needs epochs, and the log was read without times.",
            "Name a time column (time=..., --time) or an epoch (epoch=..., --epoch).",
        )
    return cast("SourceName", requested), "it was asked for"


def _fitting(cells: Cells, coarser: Sequence[Sequence[str]]) -> tuple[SourceName, str]:
    """Return the source that fits the log, and why."""
    if cells.columns.propensity is not None:
        return "logged", f"the log has them in {quoted(cells.columns.propensity)}"
    if coarser:
        return "back-off", "coarser contexts were named"
    share, epochs = repeating_share(cells), cells.evaluated.log.epochs
    if share < REPEATING and (len(cells.evaluated) >= ENOUGH or epochs is not None):
        changing = epochs is not None or _over_days(cells)
        reason = f"only {share:.1%} of traffic is in contexts seen more than once"
        return "mixture" if changing else "model", reason
    return "counts", f"{share:.1%} of traffic is in contexts seen more than once"


def _over_days(cells: Cells) -> bool:
    """Tell whether the window is longer than a day, so that the logging policy may have changed."""
    window = cells.evaluated.window
    return window.first is not None and window.last is not None and window.last - window.first > MICROSECONDS_PER_DAY


def with_propensities(
    strata: Strata, name: SourceName, reason: str, *, coarser: Sequence[Sequence[str]] = (), model: Any = None
) -> tuple[Strata, PropensitySource]:
    """Return strata with the propensities of a source, and how good these are; counts need no column.

    Args:
        strata: Strata by fold, and by propensity if these are logged.
        name: The source.
        reason: Why it was chosen.
        coarser: Lists of context columns to back off to.
        model: The user's own classifier, if there is one.
    """
    if name == "counts":
        return strata, PropensitySource("counts", reason)
    engine, levels = strata.cells.engine, context_levels(strata.cells.columns, coarser)
    if name == "back-off":
        strengths, loss = best_strengths(engine, strata.table, levels)
        listed = ", ".join(f"{strength:g}" for strength in strengths)
        detail = f" What is borrowed counts as {listed} events, finest level first."
        table = borrowed_propensity(strata.table, levels, strengths)
        return replace(strata, table=table), PropensitySource(name, reason, loss, detail=detail)
    if name == "logged":
        checked = check_logged(engine, strata.table)
        _, estimated = best_strengths(engine, strata.table, levels)
        return strata, PropensitySource(name, reason, checked.log_loss, estimated, too_heavy=checked.too_heavy)
    detail = ""
    if name == "mixture":
        strata, epoching = mixture_propensity(strata, model=model)
        detail = epoching.detail
    else:
        strata = modelled_propensity(strata, model=model)
    n, p = strata.table.n, strata.table[PROPENSITY]
    sums = {"known": p.notnull().ifelse(n, 0.0).sum(), "loss": -(n * p.ln()).sum(), "events": n.sum()}
    totals = engine.fetch(strata.table.agg(**sums))[0]
    known = float(totals["known"])
    mean = max(0.0, float(totals["loss"]) / known) if known else None
    return strata, PropensitySource(name, reason, mean, without=1 - known / float(totals["events"]), detail=detail)


def context_levels(columns: Columns, coarser: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the fixed names of the whole context's columns, then of each coarser one's."""
    fixed = dict(zip(columns.context, columns.context_keys, strict=True))
    return [list(columns.context_keys), *([fixed[name] for name in level] for level in coarser)]
