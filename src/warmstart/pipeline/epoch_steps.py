"""Value policies on the next epochs of a log that goes on: what monitoring and progressive evaluation share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from warmstart.core import EPOCH, REWARD, TIME, EmptyWindowError, UsageError, quoted
from warmstart.estimators import EpochState, Levels, step
from warmstart.events import COLUMN, Epochs, Events, epoch_label, epoch_of, epochs_known, open_cells
from warmstart.pipeline.checks import check_epochs
from warmstart.pipeline.each_policy import inputs_of_each
from warmstart.pipeline.known_before import known_levels
from warmstart.pipeline.prepare import prepare
from warmstart.pipeline.returning import returning_share
from warmstart.policy import build_policy

if TYPE_CHECKING:
    from warmstart.policy import NamedPolicy
    from warmstart.results import EpochEstimate, Tau


class EpochWindow(NamedTuple):
    """One epoch of a log: its name, its number in time, its events, and the sums of rewards and of their squares."""

    label: str
    number: int
    events: Events
    rewards: float
    squares: float


@dataclass(frozen=True, eq=False)
class Followed:
    """A policy that is valued epoch after epoch: the level of its bounds of value, and of gain, and its state."""

    policy: NamedPolicy
    delta: float
    state: EpochState


@dataclass(frozen=True, eq=False)
class Steps:
    """What the next epochs say of a policy, and the state after them."""

    epochs: tuple[EpochEstimate, ...]
    state: EpochState


def with_epochs(events: Events, epoch: str | None) -> Events:
    """Return the events divided by ``epoch``, if one is given, else as the log was read; refuse one without epochs."""
    epochs = events.log.epochs if epoch is None else Epochs.parse(epoch)
    if epochs is None or events.columns.time is None:
        raise UsageError("This needs epochs and times.", "Name them: epoch=... (--epoch) and time=... (--time).")
    if epochs.kind == "auto":
        raise UsageError("Counts need epochs that were fixed before these events.", "Name hour, day, week or a column.")
    if epochs.column is not None and epochs.column != events.columns.epoch:
        raise UsageError(
            f"The log was read without the column {quoted(epochs.column)} as epoch.",
            "Name it when the log is read: read_events(..., epoch=...).",
        )
    return replace(events, log=replace(events.log, epochs=epochs))


def epoch_windows(events: Events) -> list[EpochWindow]:
    """Return the epochs of a log in the order of time, each as a window of its own.

    Those of a column must follow one another: what is learned from earlier epochs has to come before the later ones.
    """
    epochs, table = events.log.epochs, events.table
    if epochs is None:
        raise UsageError("The log was read without epochs.", "Name them: epoch=... (--epoch).")
    spans = table.group_by(**{EPOCH: epoch_of(table, epochs.kind)}).agg(
        n=table.count(),
        first=table[TIME].min(),
        last=table[TIME].max(),
        rewards=table[REWARD].sum(),
        squares=(table[REWARD] * table[REWARD]).sum(),
    )
    rows = sorted(events.engine.fetch(spans), key=lambda row: (row["first"], str(row[EPOCH])))
    windows = []
    for place, row in enumerate(rows):
        start = events.window.start if place == 0 else row["first"]
        stop = rows[place + 1]["first"] if place + 1 < len(rows) else events.window.stop
        if place + 1 < len(rows) and row["last"] >= stop:
            raise UsageError(
                f"The epochs {quoted(row[EPOCH])} and {quoted(rows[place + 1][EPOCH])} overlap in time, or touch.",
                "Divide the log by hour, day or week.",
            )
        is_column = epochs.kind == COLUMN
        label = str(row[EPOCH]) if is_column else epoch_label(epochs.kind, row[EPOCH])
        span = {"start": start, "stop": stop, "first": row["first"], "last": row["last"]}
        window = replace(events.window, events=row["n"], **span)
        number, own = place if is_column else row[EPOCH], replace(events, window=window)
        windows.append(EpochWindow(label, number, own, float(row["rewards"]), float(row["squares"])))
    if not windows:
        raise EmptyWindowError("There are no events.")
    return windows


def together(windows: Sequence[EpochWindow]) -> Events:
    """Return the events of epochs that follow one another as one window."""
    first, last = windows[0].events.window, windows[-1].events.window
    number = sum(one.events.window.events for one in windows)
    return replace(windows[0].events, window=replace(first, events=number, stop=last.stop, last=last.last))


def take_steps(
    followed: Sequence[Followed],
    events: Events,
    train: Events | None,
    *,
    tau: Tau = "auto",
    live: bool = True,
    allow_unknown: bool = False,
) -> dict[str, Steps]:
    """Value policies on the epochs of a window, going on from the states that they have reached.

    Args:
        followed: The policies, fixed before these epochs.
        events: The window.
        train: All events before it: they say what is feasible and what rewards to expect.
        tau: The clipping constant.
        live: Whether policies choose among the actions live in the epoch.
        allow_unknown: Whether decisions may name actions that the log never shows.
    """
    returning = returning_share(events, train)
    levels = known_levels(0.05, 1, events, train, returning=returning)
    low, high = events.log.reward_range
    steps = {}
    with open_cells(events, train, by_epoch=epochs_known(events)) as cells, ExitStack() as resources:
        inputs = prepare(cells, resources, "counts", rate=levels.rate)
        strata = inputs.by_epoch
        if strata is None or strata.epochs is None:
            raise UsageError("The log was read without epochs.", "Name them: epoch=... (--epoch).")
        check_epochs(strata, "bets")
        states = {one.policy.name: one for one in followed}
        for policy, own in inputs_of_each([one.policy for one in followed], inputs, {"rate": levels.rate}):
            one = states[policy.name]
            choice: dict[str, Any] = {
                "feasible_from": "evaluated" if train is None else "all",
                "live": live,
                "strata": own.by_epoch,
            }
            built = build_policy(policy, own.cells, allow_unknown=allow_unknown, **choice)
            with own.weigh(built) as weighted:
                epochs, state = step(weighted, strata.epochs, tau, Levels(one.delta, rate=levels.rate), one.state)
            shown = (epoch.scaled(low, high - low) for epoch in epochs)
            proven = state.proven and not (returning or inputs.returning or inputs.overlapping)
            state = replace(state, proven=proven)
            steps[one.policy.name] = Steps(tuple(e if proven else e.uncertified() for e in shown), state)
    return steps
