"""Cells: all that an estimate needs of the events, summed once in the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import ibis
import ibis.expr.types as ir

from warmstart.core import ACTION, DAY, EPOCH, MICROSECONDS_PER_DAY, TIME, Columns, EngineError, WindowName
from warmstart.engine import LocalEngine, Row
from warmstart.events.epochs import day_of, epoch_of
from warmstart.events.outcomes import (
    IF_NEGATIVE,
    Fill,
    check_outcomes,
    of,
    outcome_view,
    outcome_windows,
    with_outcomes,
)
from warmstart.events.window import Events, event_count, event_weight, in_one_engine


@dataclass(frozen=True)
class Cells:
    """One row per (context, action) seen in the evaluated or the training window, held in an engine of our own.

    ``n, reward_sum, reward_sq_sum``: over the evaluated window (zero where the pair was seen in training only);
    ``n_train``: events of the training window, where there is one; ``live_from, live_until`` (exclusive), where asked
    for: the days of the evaluated window between the action's first and last day anywhere in the logs. ``traffic``:
    the events by context and day, where they are held too. ``by_epoch``: the evaluated window's sums by context, action
    and epoch, where cells were made from these.

    The same on every row of a context: ``context_n, context_reward_sum, context_reward_sq_sum``, with a training window
    ``context_n_train, context_reward_sum_train``, and the numbers of its actions, ``context_actions`` (evaluated),
    ``context_actions_train``, ``context_actions_all``. Sums of further outcomes end in ``_of_1, _of_2, ...``.
    """

    engine: LocalEngine
    evaluated: Events
    train: Events | None
    table: ir.Table
    traffic: ir.Table | None = None
    by_epoch: ir.Table | None = None

    @property
    def columns(self) -> Columns:
        """Return the user's names of the columns."""
        return self.evaluated.columns

    @property
    def daily_traffic(self) -> ir.Table:
        """Return the evaluated window's events by context and day: context_0, ..., day, n."""
        rows = by_context_and_day(self.evaluated) if self.traffic is None else self.traffic
        keys = {name: rows[name].cast(self.table[name].type()) for name in self.columns.context_keys}
        return rows.select(**keys, day=rows[DAY], n=rows.n)

    @cached_property
    def totals(self) -> Row:
        """Return sums over all cells, asked for once: their number, contexts, evaluated events and rewards.

        Of the evaluated events ``alone`` are in contexts with a single action, and ``again`` in contexts seen more than
        once; ``mean_k`` is the mean of the k-th further outcome where it is known.
        """
        table = self.table
        total, in_context = window_counts(table, "all")
        outcomes = range(1, len(self.evaluated.log.outcomes))
        known = {k: table[f"n_of_{k}"] if f"n_of_{k}" in table.columns else table.n for k in outcomes}
        sums = table.agg(
            # Every event adds 1 / (events of its context): the contexts, without grouping by them.
            contexts=(total / in_context).sum(),
            cells=table.count(),
            evaluated=table.n.sum(),
            alone=(table.context_actions == 1).ifelse(table.n, 0.0).sum(),
            again=(table.context_n > 1).ifelse(table.n, 0.0).sum(),
            rewards=table.reward_sum.sum(),
            **{f"mean_{k}": table[f"reward_sum_of_{k}"].sum() / known[k].sum() for k in outcomes},
        )
        return self.engine.fetch(sums)[0]

    def of_outcome(self, k: int, fill: Fill, total: float) -> Cells:
        """Return the same cells with the k-th outcome, known in so many events, in the place of the reward."""
        evaluated, train = outcome_windows(self.evaluated, self.train, k, fill, total)
        by_epoch = self.by_epoch
        if by_epoch is not None:
            by_epoch = outcome_view(by_epoch, k, fill)
            by_epoch = by_epoch.filter(by_epoch.n > 0)
            by_epoch = by_epoch.drop(*(name for name in by_epoch.columns if name == IF_NEGATIVE))
        table = outcome_view(self.table, k, fill)
        return replace(self, evaluated=evaluated, train=train, table=table, by_epoch=by_epoch)

    @property
    def contexts(self) -> ir.Table:
        """Return the contexts of the evaluated window, with their columns."""
        table = self.table.filter(self.table.context_n > 0)
        shared = [name for name in table.columns if name.startswith("context_") and name not in self.columns.keys]
        return table.group_by(*self.columns.context_keys).agg(**{name: table[name].max() for name in shared})


def window_counts(rows: ir.Table, window: WindowName) -> tuple[ir.Value, ir.Value]:
    """Return, as columns of cells, the events of a cell and of its context in a window."""
    if window == "evaluated" or (window == "all" and "n_train" not in rows.columns):
        return rows.n, rows.context_n
    if window == "train":
        return rows.n_train, rows.context_n_train
    return rows.n + rows.n_train, rows.context_n + rows.context_n_train


def counted_propensity(rows: ir.Table, window: WindowName = "evaluated") -> ir.Value:
    """Return pi_hat(a|x) = events of (x, a) / events of x in a window, as a column of cells (paper, Eq. 7).

    Null where the window never saw the context: then there is no propensity, and none is made up.
    """
    n, context_n = window_counts(rows, window)
    return n / context_n.nullif(0.0)


def counted_within(rows: ir.Table, keys: Sequence[str]) -> ir.Value:
    """Return pi_hat(a|x) counted within the given keys (the context, or context and epoch), over all folds."""
    whole = ibis.window(group_by=[*keys, ACTION])
    return rows.n.sum().over(whole) / rows.context_n.sum().over(whole).nullif(0.0)


@contextmanager
def open_cells(
    evaluated: Events, train: Events | None = None, *, live: bool = False, by_epoch: bool = False
) -> Iterator[Cells]:
    """Sum the events of one or two windows into cells; they are released on leaving.

    Args:
        evaluated: The window to evaluate on.
        train: The training window, if there is one.
        live: Whether to tell on which days actions are live.
        by_epoch: Whether to sum by epoch first, and keep those sums too.
    """
    if train is not None:
        train = in_one_engine(train, evaluated)
        check_outcomes(train, evaluated)
    with ExitStack() as resources:
        # In two steps: grouping and windows in one query would compete for memory, and spill.
        engine, summed = evaluated.engine.collect(cell_sums(evaluated, train, live=live, by_epoch=by_epoch))
        with ExitStack() as meanwhile:
            (resources if by_epoch else meanwhile).callback(summed.release)
            check_sums(engine, summed, evaluated)
            if train is not None:
                check_sums(engine, summed, train, column="n_train")
            shown = shown_actions(summed, evaluated, train, resources) if live else None
            sums = summed
            if by_epoch:
                sums = engine.materialise(_over_epochs(summed, evaluated))
                meanwhile.callback(sums.release)
            held = engine.materialise(with_context_sums(sums, evaluated, shown))
            resources.callback(held.release)
        traffic = None
        if live and evaluated.engine.remote:
            _, traffic = evaluated.engine.collect(by_context_and_day(evaluated))
            resources.callback(traffic.release)
        yield Cells(engine, evaluated, train, held, traffic, _of_epochs(summed, evaluated) if by_epoch else None)


def check_sums(engine: LocalEngine, summed: ir.Table, events: Events, *, column: str = "n") -> None:
    """Refuse sums from a database that has got, or lost, events since it was asked how many there are."""
    if not events.engine.remote or events.units is not None:
        return
    now = engine.fetch(summed.agg(events=summed[column].sum()))[0]["events"]
    if now != len(events):
        raise EngineError(
            f"The log changed while it was read: the window had {len(events):,} events, and now has {now or 0:,.0f}.",
            "Read it again; a window that ends before today does not grow.",
        )


def by_context_and_day(events: Events) -> ir.Table:
    """Count the events of a window by context and day: context_0, ..., day, n."""
    table = events.table
    keys = {name: table[name] for name in events.columns.context_keys}
    return table.group_by(**keys, day=day_of(table[TIME])).agg(n=event_count(table))


def with_context_sums(summed: ir.Table, evaluated: Events, shown: ir.Table | None) -> ir.Table:
    """Add to cells what they share with their context and, if it is known when actions were ``shown``, live days."""
    whole = ibis.window(group_by=list(evaluated.columns.context_keys))
    added = with_outcomes(summed, ("n", "reward_sum", "reward_sq_sum", "n_train", "reward_sum_train"))
    sums = {f"context_{name}": summed[name].sum() for name in added}
    for name in with_outcomes(summed, ("n", "n_train")):
        sums[f"context_actions{name.removeprefix('n')}"] = (summed[name] > 0).cast("float64").sum()
    if "n_train" in summed.columns:
        sums["context_actions_all"] = summed.n.count().cast("float64")
    left = {"first_time", "last_time", *with_outcomes(summed, ("reward_sum_train",))}
    own = [name for name in summed.columns if name not in left]
    table = summed.select(*own, **{name: value.over(whole) for name, value in sums.items()})
    if shown is None:
        return table
    return table.left_join(_live_days(shown, evaluated), ACTION).drop(f"{ACTION}_right")


def epochs_known(evaluated: Events) -> bool:
    """Tell whether the log was read with epochs that are fixed, so that events can be summed within them."""
    epochs = evaluated.log.epochs
    return epochs is not None and epochs.kind != "auto"


def days_known(evaluated: Events, train: Events | None) -> bool:
    """Tell whether every window has times."""
    return evaluated.columns.time is not None and (train is None or train.columns.time is not None)


def shown_actions(summed: ir.Table, evaluated: Events, train: Events | None, resources: ExitStack) -> ir.Table:
    """Return when actions were shown first and last anywhere in the logs; cells tell, if these hold all events."""
    if _hold_the_whole_log(evaluated, train):
        return summed
    logs = {id(events.log): events.log.table for events in (evaluated, train) if events is not None}
    parts = [table.select(ACTION, TIME) for table in logs.values()]
    events = ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
    spans = events.group_by(ACTION).agg(first_time=events[TIME].min(), last_time=events[TIME].max())
    _, held = evaluated.engine.collect(spans)
    resources.callback(held.release)
    return held


def _live_days(shown: ir.Table, evaluated: Events) -> ir.Table:
    """Return each action's first and last day, cut to the evaluated window."""
    spans = shown.group_by(ACTION).agg(first=shown.first_time.min(), last=shown.last_time.max())
    window = evaluated.window
    first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
    return spans.select(
        ACTION,
        live_from=ibis.greatest(day_of(spans["first"]), ibis.literal(first)),
        live_until=ibis.least(day_of(spans["last"]), ibis.literal(last)) + 1,
    )


def cell_sums(evaluated: Events, train: Events | None, *, live: bool = False, by_epoch: bool = False) -> ir.Table:
    """Group the events of the windows by (context, action[, epoch]), in one pass over each log; training has no epoch.

    Args:
        evaluated: The window to evaluate on.
        train: The training window, if there is one.
        live: Whether to tell when pairs were shown first and last, if that tells of all events.
        by_epoch: Whether to divide by epoch.
    """
    timed = live and _hold_the_whole_log(evaluated, train)
    nothing = ibis.literal(False)
    in_train = train.inside if train is not None and train.log is evaluated.log else nothing
    epochs = evaluated.log.epochs if by_epoch else None
    kind = None if epochs is None else epoch_of(evaluated.log.table, epochs.kind)
    epoch = {} if kind is None else {EPOCH: evaluated.inside.ifelse(kind, None)}
    events = _marked(evaluated, evaluated.inside, in_train, epoch, timed=timed)
    if train is not None and train.log is not evaluated.log:
        none = {name: ibis.null(value.type()) for name, value in epoch.items()}
        events = ibis.union(events, _marked(train, nothing, train.inside, none, timed=timed), distinct=False)
    sums = {"n": events.in_window.sum()} | ({} if train is None else {"n_train": events.in_train.sum()})
    logs = {id(one.log): one.log for one in (evaluated, train) if one is not None}.values()
    for k, outcome in enumerate(evaluated.log.outcomes):
        value = events[outcome.column]
        if any(log.outcomes[k].known < 1 for log in logs):
            known = value.notnull().cast("float64")
            sums[of("n", k)] = (events.in_window * known).sum()
            sums |= {} if train is None else {of("n_train", k): (events.in_train * known).sum()}
            value = value.coalesce(0.0)
        rewards = events.in_window * value
        sums |= {of("reward_sum", k): rewards.sum(), of("reward_sq_sum", k): (rewards * value).sum()}
        sums |= {} if train is None else {of("reward_sum_train", k): (events.in_train * value).sum()}
    sums |= {"first_time": events[TIME].min(), "last_time": events[TIME].max()} if timed else {}
    return events.group_by(*evaluated.columns.keys, *epoch).agg(**sums)


def _over_epochs(summed: ir.Table, evaluated: Events) -> ir.Table:
    """Add up the epochs of cells."""
    keys = evaluated.columns.keys
    own = [name for name in summed.columns if name not in (*keys, EPOCH, "first_time", "last_time")]
    return summed.group_by(*keys).agg(**{name: summed[name].sum() for name in own})


def _of_epochs(summed: ir.Table, evaluated: Events) -> ir.Table:
    """Return the sums of the evaluated window alone."""
    own = summed.filter(summed[EPOCH].notnull()) if "n_train" in summed.columns else summed
    sums = with_outcomes(own, ("n", "reward_sum", "reward_sq_sum"))
    return own.select(*evaluated.columns.keys, EPOCH, *sums)


def _marked(
    events: Events, in_window: ir.Value, in_train: ir.Value, epoch: Mapping[str, ir.Value], *, timed: bool
) -> ir.Table:
    table = events.log.table
    weight = event_weight(table)
    marks = {"in_window": in_window.ifelse(weight, 0.0), "in_train": in_train.ifelse(weight, 0.0)}
    times = [TIME] if timed else []
    outcomes = [outcome.column for outcome in events.log.outcomes]
    return table.filter(in_window | in_train).select(*events.columns.keys, *outcomes, *times, **marks, **epoch)


def _hold_the_whole_log(evaluated: Events, train: Events | None) -> bool:
    """Tell whether no event of the logs lies outside the windows, which never overlap."""
    if train is not None and train.log is evaluated.log:
        return len(evaluated) + len(train) == evaluated.log.rows
    return all(len(events) == events.log.rows for events in (evaluated, train) if events is not None)
