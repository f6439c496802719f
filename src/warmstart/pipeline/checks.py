"""What the front doors refuse, whoever calls: the command line and Python callers get the same errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from warmstart.core import WINDOW_NAMES, DecisionError, UsageError, WindowName, no_such_column, quoted
from warmstart.estimators import ESTIMATORS, METHODS
from warmstart.events import Cells, Events, Strata, window_counts
from warmstart.pipeline.sources import REPEATING, contexts_repeat
from warmstart.policy import NamedPolicy
from warmstart.results import Tau, ValueEstimate

# Beyond this a doubt is none: nothing is known of what was not shown.
MOST_DOUBT = 1e6


def check_events(*windows: Any) -> None:
    """Refuse what is no log that was read."""
    for window in windows:
        if not isinstance(window, Events):
            raise UsageError(
                f"{quoted(window)} is not a log that was read.", "Pass what read_events or split returned."
            )


def checked_taus(tau: Tau | Iterable[Tau]) -> list[Tau]:
    """Return one or several taus as a list of numbers in (0, 1] and "auto"."""
    taus = list(tau) if isinstance(tau, Iterable) and not isinstance(tau, str) else [tau]
    if not all(t == "auto" or isinstance(t, Real) for t in taus):
        raise UsageError(f"tau must be 'auto', a number or several, and is {quoted(tau)}.")
    if not taus:
        raise UsageError("Name at least one tau.")
    for t in taus:
        if t != "auto" and not 0 < t <= 1:
            raise UsageError(
                f"tau must lie in (0, 1], and is {t:g}.", "It is the floor of the propensity: try 0.01 or 0.05."
            )
    if len(set(taus)) < len(taus):
        raise UsageError("A tau is given twice.")
    return [t if t == "auto" else float(t) for t in taus]


def check_level(delta: float, interval: str, estimators: Sequence[str]) -> None:
    """Refuse a level that is none, and intervals and estimators that do not exist."""
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie between 0 and 1, and is {delta:g}.", "0.05 gives 95 % intervals.")
    if interval not in METHODS:
        raise UsageError(f"There is no interval {quoted(interval)}.", f"Choose one of {', '.join(METHODS)}.")
    for name in estimators:
        if name not in ESTIMATORS:
            raise UsageError(f"There is no estimator {quoted(name)}.", f"Choose among {', '.join(ESTIMATORS)}.")


def check_amounts(margin: float | None, doubt: float | None) -> None:
    """Refuse a margin or a doubt that is none."""
    if margin is not None and not 0 < margin < math.inf:
        raise UsageError(f"The margin must be above 0, and is {margin:g}.", "It is a change of the reward per event.")
    if doubt is not None and not (isinstance(doubt, int | float) and 1 <= doubt < MOST_DOUBT):
        raise UsageError(
            f"The doubt must be a number from 1 to {MOST_DOUBT:g}, and is {doubt}.",
            "It is how many times as much events that were shown an action could earn as the others: 1.5, say.",
        )


def check_per(per: str, events: Events) -> None:
    """Refuse values per unit of a log without units."""
    if per not in ("event", "unit"):
        raise UsageError(f"per must be 'event' or 'unit', and is {quoted(per)}.")
    if per == "unit" and not events.columns.unit:
        raise UsageError("The log was read without a unit.", "Name it: unit=... (--unit).")


def check_epochs(strata: Strata | None, interval: str) -> None:
    """Refuse what does not hold over epochs: intervals for events that react to nothing, and windows out of order."""
    if strata is None:
        return
    if interval != "bets":
        raise UsageError(
            f"The interval {quoted(interval)} does not hold where later epochs react to earlier rewards.",
            "'bets' does (--interval bets).",
        )
    evaluated, train = strata.cells.evaluated, strata.cells.train
    if evaluated.folds is not None or (train is not None and train.folds is not None):
        raise UsageError("Epochs have an order, and folds are drawn at random.", "Split the log in time.")
    if train is None:
        return
    last, first = train.window.last, evaluated.window.first
    if last is None or first is None or last >= first:
        raise UsageError("With epochs, training comes before the evaluated window.", "Split the log in time.")


def check_decides(policy: NamedPolicy, estimate: ValueEstimate) -> None:
    """Refuse a policy of the user's own that decides nothing."""
    if policy.keyword is not None or estimate.support.undecided < 1:
        return
    if policy.fitted is not None:
        hint = (
            "Its training never saw one of them, or nothing that it knows there is live. Pass a table of contexts with "
            "the features that it learned from, contexts=... (--contexts FILE), and it chooses in new contexts by them."
        )
    elif policy.column is not None or policy.is_asked:
        hint = "All its choices are null."
    else:
        hint = "Are its contexts written as in the log, with their columns in the same order?"
    raise DecisionError(f"The policy {quoted(policy.name)} decides no context of the evaluated window.", hint)


def check_coarser(coarser: Sequence[Sequence[str]], events: Events) -> None:
    """Refuse coarser contexts that are none."""
    for column in (column for level in coarser for column in level):
        if column not in events.columns.context:
            raise no_such_column(column, events.columns.context, where="the context")


def check_uniform(cells: Cells, window: WindowName) -> None:
    """Refuse ``uniform`` where contexts do not repeat and no training window says what is feasible in them."""
    if contexts_repeat(cells):
        return
    table = cells.table
    # An event of the context itself says only what was shown, not what else could have been.
    _, seen = window_counts(table, window)
    known = seen > 1 if window != "train" else seen > 0
    totals = cells.engine.fetch(table.agg(known=known.ifelse(table.n, 0.0).sum(), events=table.n.sum()))[0]
    if totals["known"] < REPEATING * totals["events"]:
        raise UsageError(
            "'uniform' chooses among the actions feasible in a context, and contexts do not repeat: each is known with "
            "the one action that was shown.",
            "Ask for 'uniform-all' (every live action), or pass a training window in which these contexts occur.",
        )


def feasible_window(requested: WindowName | None, train: Events | None) -> WindowName:
    """Return the window that feasible actions come from: the training window if there is one, unless requested."""
    window: WindowName = requested or ("evaluated" if train is None else "train")
    if window not in WINDOW_NAMES:
        raise UsageError(f"feasible_from cannot be {quoted(window)}.", f"Choose one of {', '.join(WINDOW_NAMES)}.")
    if window == "train" and train is None:
        raise UsageError(
            "feasible_from is 'train', but there is no training window.", "Split the log, or pass train=..."
        )
    return window


def check_maximized(events: Events) -> None:
    """Refuse a reward that should be small, where what is told takes more of it for better."""
    if events.log.outcomes[0].minimize:
        name = quoted(events.columns.reward)
        raise UsageError(
            f"Policies are followed over epochs by a reward of which more is better, and less of {name} is.",
            "Name another reward, or a column of its negative with a range.",
        )
