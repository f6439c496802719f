"""The hall: the only file that knows the order of the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import DecisionError, UsageError
from warmstart.core.evaluation import Evaluation, LogSummary, Windows
from warmstart.core.interval import IntervalName
from warmstart.core.names import ACTION, PROBABILITY, WINDOW_NAMES, WindowName
from warmstart.core.text import quoted
from warmstart.core.version import __version__
from warmstart.events import Cells, Events, open_cells, window_counts
from warmstart.policy import build_policies, parse_policies
from warmstart.value import METHODS, estimate_value

if TYPE_CHECKING:
    import pyarrow as pa

Step = Callable[[str], None]


def evaluate(
    policies: Any,
    events: Events,
    *,
    train: Events | None = None,
    tau: float | Sequence[float],
    delta: float = 0.05,
    interval: IntervalName = "kl",
    weights_from: WindowName = "evaluated",
    feasible_from: WindowName | None = None,
    live: bool = True,
    on_step: Step | None = None,
) -> Evaluation:
    """Estimate what policies would have earned on the events of a window.

    ``policies``: one, a list, or a mapping from names; each is ``"logging"``, ``"uniform"``, ``"constant:ACTION"``, a
    file of decisions, or a frame of them. ``train`` is the window that feasible actions come from, if there is one.
    ``live`` lets ``uniform`` choose each day among the actions that could be shown that day; it needs times.
    ``on_step`` is told what is being done.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "p", "p", "p"], "ad": ["a", "a", "b", "b"], "click": [1, 0, 1, 1]})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.evaluate(["logging", "constant:b"], events, tau=0.05)["constant:b"].value
    1.0
    """
    named = parse_policies(policies)
    taus = _checked_taus(tau)
    _check_choices(delta, interval, weights_from, feasible_from, train)
    feasible_from = feasible_from or ("evaluated" if train is None else "train")
    step = on_step or (lambda _: None)
    step("summing events into cells")
    with open_cells(events, train) as cells:
        live = live and cells.has_time
        summary = _summary(cells)
        estimates = []
        for policy in build_policies(named, cells, feasible_from=feasible_from, live=live):
            step(f"valuing {policy.name}")
            found = estimate_value(
                policy,
                cells,
                taus=taus,
                delta=delta,
                method=interval,
                weights_from=weights_from,
                looks=len(named) * len(taus),
            )
            if found[0].support.undecided >= 1:
                raise DecisionError(
                    f"The policy {quoted(policy.name)} decides no context of the evaluated window.",
                    "Are its context columns written as in the log?",
                )
            estimates += found
    windows = Windows(events.window, None if train is None else train.window, weights_from, feasible_from, live)
    return Evaluation(tuple(estimates), windows, summary, events.log.reward_range, __version__)


def policy_table(
    policy: Any,
    events: Events,
    *,
    train: Events | None = None,
    feasible_from: WindowName | None = None,
    live: bool = True,
) -> pa.Table:
    """Return what a policy would choose on a window: the context columns, the action, its probability."""
    import pyarrow as pa

    feasible_from = feasible_from or ("evaluated" if train is None else "train")
    with open_cells(events, train) as cells:
        live = live and cells.has_time
        built = build_policies(parse_policies(policy), cells, feasible_from=feasible_from, live=live)[0]
        columns = [*cells.columns.keys, PROBABILITY]
        rows = cells.engine.fetch(built.table.select(*columns))
        given = cells.columns.fixed_to_given
        names = {name: given.get(name, name) for name in columns}
        return pa.table({shown: [row[name] for row in rows] for name, shown in names.items()})


def _summary(cells: Cells) -> LogSummary:
    table = cells.table
    total, in_context = window_counts(table, "all")
    found = cells.engine.fetch(
        table.agg(
            # Every event adds 1 / (events of its context): the contexts, without grouping by them.
            contexts=(total / in_context).sum(),
            events=total.sum(),
            evaluated=table.n.sum(),
            alone=(table.context_actions == 1).ifelse(table.n, 0.0).sum(),
        )
    )[0]
    actions = table.select(ACTION).distinct()
    kinds = cells.engine.fetch(actions.agg(actions=actions.count()))[0]["actions"]
    same_log = cells.train is None or cells.train.log is cells.evaluated.log
    dropped = cells.evaluated.dropped + (0 if same_log or cells.train is None else cells.train.dropped)
    return LogSummary(
        events=round(found["events"]),
        contexts=round(found["contexts"]),
        actions=kinds,
        dropped=dropped,
        one_action_share=found["alone"] / found["evaluated"],
    )


def _checked_taus(tau: float | Sequence[float]) -> list[float]:
    taus = [float(t) for t in (tau if isinstance(tau, Sequence) else [tau])]
    if not taus:
        raise UsageError("Name at least one tau.")
    for t in taus:
        if not 0 < t <= 1:
            raise UsageError(
                f"tau must lie in (0, 1], and is {t:g}.", "It is the floor of the propensity: try 0.01 or 0.05."
            )
    if len(set(taus)) < len(taus):
        raise UsageError("A tau is given twice.")
    return taus


def _check_choices(
    delta: float, interval: str, weights_from: str, feasible_from: str | None, train: Events | None
) -> None:
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie between 0 and 1, and is {delta:g}.", "0.05 gives 95 % intervals.")
    if interval not in METHODS:
        raise UsageError(f"There is no interval {quoted(interval)}.", f"Choose one of {', '.join(METHODS)}.")
    for option, window in (("weights_from", weights_from), ("feasible_from", feasible_from)):
        if window is not None and window not in WINDOW_NAMES:
            raise UsageError(f"{option} cannot be {quoted(window)}.", f"Choose one of {', '.join(WINDOW_NAMES)}.")
        if window == "train" and train is None:
            raise UsageError(
                f"{option} is 'train', but there is no training window.", "Split the log, or pass train=..."
            )
