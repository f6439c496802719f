"""What one policy would choose on a window, as a table, and what that is worth where the truth is known."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, Protocol

from warmstart.core import EPOCH, PROBABILITY, UsageError, WindowName
from warmstart.events import Events, days_known, epochs_known, open_cells, open_epoch_strata, per_unit
from warmstart.pipeline.checks import check_events, check_uniform, feasible_window
from warmstart.pipeline.each_policy import window_of
from warmstart.policy import build_policy, parse_policies

if TYPE_CHECKING:
    import pyarrow as pa


class World(Protocol):
    """A simulated world, which knows its truth."""

    def true_value(
        self, policy: pa.Table, *, events: Events | None = None, per: Literal["event", "unit"] = "event"
    ) -> float:
        """Return the exact value of a policy's table."""
        ...


def policy_table(
    policy: Any,
    events: Events,
    *,
    train: Events | None = None,
    feasible_from: WindowName | None = None,
    live: bool = True,
    contexts: Any = None,
) -> pa.Table:
    """Return what one policy would choose on a window: the context columns, the action, its probability.

    In a log with epochs, ``uniform`` and learned policies choose anew in each of them: a column ``epoch`` says which.

    Args:
        policy: one policy, in any form that ``evaluate`` takes.
        events: the evaluated window.
        train: the training window.
        feasible_from: the window whose actions are feasible.
        live: take the best action live that day, where the log has times.
        contexts: a table of context features, for policies that read them.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "p", "q"], "ad": ["a", "b", "a"], "click": [1, 0, 1]})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> sorted(tuple(row.values()) for row in ws.policy_table("uniform", events).to_pylist())
    [('p', 'a', 0.5), ('p', 'b', 0.5), ('q', 'a', 1.0)]
    """
    check_events(events, *([] if train is None else [train]))
    feasible_from = feasible_window(feasible_from, train)
    named = parse_policies(policy)
    if len(named) > 1:
        raise UsageError("Ask for the table of one policy at a time.")
    # A policy that defers has logging's own shares there, action by action.
    events, train = (events, train) if named[0].defers else window_of(named[0], events, train)
    given = events.columns.fixed_to_given
    if PROBABILITY in (given[key] for key in events.columns.keys):
        raise UsageError("A context or action column called 'probability' is in the way.", "Rename it.")
    live = live and days_known(events, train)
    by_epoch = named[0].may_be_live and epochs_known(events)
    with open_cells(events, train, live=live and not by_epoch, by_epoch=by_epoch) as cells, ExitStack() as resources:
        if named[0].keyword == "uniform":
            check_uniform(cells, feasible_from)
        strata = None
        if by_epoch:
            strata = resources.enter_context(open_epoch_strata(cells, None))
        choice: dict[str, Any] = {"feasible_from": feasible_from, "live": live, "strata": strata}
        built = build_policy(named[0], cells, allow_unknown=named[0].is_decisions, contexts=contexts, **choice)
        table = cells.engine.fetch_arrow(built.choices(cells))
    if strata is not None and strata.epochs is not None and EPOCH in table.column_names:
        labels = dict(zip(strata.epochs.numbers.tolist(), strata.epochs.labels, strict=True))
        named_epochs = [labels[number] for number in table[EPOCH].to_pylist()]
        table = table.set_column(table.column_names.index(EPOCH), EPOCH, [named_epochs])
    return table.rename_columns([given.get(name, name) if name != EPOCH else EPOCH for name in table.column_names])


def true_value(
    policy: Any,
    world: World,
    *,
    events: Events | None = None,
    train: Events | None = None,
    feasible_from: WindowName | None = None,
    live: bool = True,
    per: Literal["event", "unit"] = "event",
) -> float:
    """Return what a policy is expected to earn in a simulated world: exactly, not by sampling.

    Where the policy says nothing it earns nothing.

    Args:
        policy: a table of choices, or a policy in any form that ``evaluate`` takes, which needs ``events``.
        world: the simulated world.
        events: the value is that of this traffic; None: of the world's population.
        train: the training window.
        feasible_from: the window whose actions are feasible.
        live: take the best action live that day, where the log has times.
        per: ``"event"``, or ``"unit"`` in a world with users.
    """
    if hasattr(policy, "column_names"):
        return world.true_value(policy, events=events, per=per)
    if events is None:
        raise UsageError("What a named policy chooses depends on a window.", "Pass events=...")
    weighed, earlier = per_unit(events, train) if per == "unit" else (events, train)
    table = policy_table(policy, weighed, train=earlier, feasible_from=feasible_from, live=live)
    if EPOCH in table.column_names:
        raise UsageError(
            "This policy chooses anew in every epoch, and worlds value policies by context.",
            "Value the epochs one by one, or read the log without epochs.",
        )
    return world.true_value(table, events=events, per=per)
