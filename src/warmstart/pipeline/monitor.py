"""Follow policies on a growing log: one line for every epoch, with bounds that hold at every look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import Moment, Progress, UsageError, __version__, quoted, silent
from warmstart.estimators import EpochState
from warmstart.events import COLUMN, epoch_label, epoch_start
from warmstart.pipeline.checks import check_events, check_level, check_maximized, checked_taus
from warmstart.pipeline.epoch_steps import (
    EpochWindow,
    Followed,
    Steps,
    epoch_windows,
    take_steps,
    together,
    with_epochs,
)
from warmstart.pipeline.monitor_file import mark_of_policy, read_lines, write_lines
from warmstart.pipeline.trained import training_of
from warmstart.policy import parse_policies
from warmstart.results import FollowedPolicy, Monitor, MonitorLine

if TYPE_CHECKING:
    from warmstart.events import Events
    from warmstart.policy import NamedPolicy
    from warmstart.results import Tau

# Mean rewards of an epoch and of those before differ by so many standard errors: less than once in 10,000 epochs.
DRIFT = 4.0
# Support is lost where it is less than this part of what it was.
LOST = 0.5
# Reaction is looked for in so many of the newest epochs.
LOOKED_AT = 30
# More epochs in a row without events are counted, not named.
NAMED = 10


def monitor(
    policies: Any,
    events: Events,
    out: str | Path,
    *,
    epoch: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    tau: Tau = "auto",
    delta: float = 0.05,
    live: bool = True,
    trained_until: Any = None,
    allow_unknown_actions: bool = False,
    inputs: Iterable[Any] = (),
    on_progress: Progress = silent,
) -> Monitor:
    """Value policies on every epoch of a growing log, once, and append a line for each to a small file.

    Bounds hold at every look at once. A look may be repeated: epochs that were reported are not valued again, and rows
    that come late for them are counted and left out. The first policies share delta / 2, the j-th later one has
    delta / 2^(j + 1); half of a share is for its value, half for its gain. It begins with the first epoch that was not
    reported yet, and must have been fixed before that.

    Args:
        policies: As for ``evaluate``. A name stands for the same choices in every look.
        events: The log as far as it is known, with times.
        out: The file of lines (JSON), begun if it is not there.
        epoch: hour, day, week, or the column that the log was read with; by default as the log was read.
        since: Follow policies from the first epoch that begins then or later; earlier events are for training.
        until: Epochs that end after this moment are not over. Without it, the last epoch of the log is not; the last
            one of a column never is.
        tau: The clipping constant, or "auto".
        delta: The share of monitors that may ever report a bound that misses.
        live: Whether policies choose among the actions live in the epoch.
        trained_until: As for ``evaluate``: when decisions were fitted on rewards of the log last.
        allow_unknown_actions: Whether decisions may name actions that the log never shows.
        inputs: Paths of what was read, which are never written onto.
        on_progress: Called with the step that begins.
    """
    check_events(events)
    check_maximized(events)
    check_level(delta, "bets", ())
    tau = checked_taus(tau)[0]
    named, path, log = parse_policies(policies), Path(out), with_epochs(events, epoch)
    settings = _settings(log, since, tau=tau, delta=delta, live=live)
    marks, lines = read_lines(path, settings)
    all_windows = epoch_windows(log)
    windows = [one for one in all_windows if since is None or _start(one, log) >= log.log.microseconds(since)]
    over, waiting = _over(windows, log, until)
    new = _unreported(over, lines)
    late, vanished = _changed(lines, windows)
    followed = _followed(named, marks, lines, delta)
    if vanished and log.columns.unit:
        # Nobody knows any more which units were there.
        followed = [replace(one, state=replace(one.state, proven=False)) for one in followed]
    added = list[MonitorLine]()
    if new:
        _check_fixed([one.policy for one in followed if not one.state.cost.events], trained_until, together(new))
        before = [one for one in all_windows if _first(one) < _first(new[0])]
        on_progress(f"valuing {len(new):,} new epochs from {new[0].label} on")
        options: dict[str, Any] = {"tau": tau, "live": live, "allow_unknown": allow_unknown_actions}
        steps = take_steps(followed, together(new), together(before) if before else None, **options)
        on_progress("looking for drift, reaction and lost support")
        for place, window in enumerate(new):
            state = place == len(new) - 1
            policies = [
                _policy_line(one, steps[one.policy.name], place, lines, new[0].label, state=state) for one in followed
            ]
            added.append(
                _line(window, [*lines, *added], policies, kind=log.log.epochs.kind if log.log.epochs else COLUMN)
            )
        added[-1] = replace(added[-1], alarms=(*added[-1].alarms, *_reaction(together(windows[-LOOKED_AT:]))))
        marks |= {policy.name: mark_of_policy(policy) for policy in named}
        write_lines(path, settings, marks, [*lines, *added], inputs=inputs)
    reported = {line.epoch for line in (*lines, *added)}
    return Monitor(
        lines=(*lines, *added),
        new=len(added),
        delta=delta,
        late=late,
        vanished=vanished,
        waiting=None if waiting is None or waiting.label in reported else waiting.label,
        reward_range=events.log.reward_range,
        version=__version__,
        reward=events.columns.reward,
        source=events.log.where,
    )


def _settings(log: Events, since: Moment | None, *, tau: Tau, delta: float, live: bool) -> dict[str, Any]:
    """Return what must be the same in every look."""
    columns, epochs = log.columns, log.log.epochs
    return {
        "context": list(columns.context),
        "action": columns.action,
        "reward": columns.reward,
        "time": columns.time,
        "unit": list(columns.unit),
        "epoch": None if epochs is None else epochs.column or epochs.kind,
        "since": None if since is None else log.log.microseconds(since),
        "reward_range": list(log.log.reward_range),
        "tau": tau,
        "delta": delta,
        "live": live,
    }


def _first(window: EpochWindow) -> int:
    return window.events.window.first or 0


def _start(window: EpochWindow, log: Events) -> int:
    """Return when an epoch begins; that of a column with its first event."""
    epochs = log.log.epochs
    return _first(window) if epochs is None or epochs.kind == COLUMN else epoch_start(epochs.kind, window.number)


def _check_fixed(policies: Sequence[NamedPolicy], trained_until: Any, events: Events) -> None:
    """Refuse to begin with policies that learned from events of the first epochs that they would be followed in."""
    if isinstance(trained_until, Mapping):
        tables = {policy.name for policy in policies if policy.is_decisions}
        trained_until = {name: when for name, when in trained_until.items() if name in tables}
    learned = training_of(policies, trained_until, events, None).learned
    if learned:
        raise UsageError(
            f"{', '.join(map(quoted, learned))} learned from events of the epochs that it would be followed in.",
            "Follow it from a later epoch on: since=... (--since), in a new file; or add it when that one is the next.",
        )


def _over(
    windows: Sequence[EpochWindow], log: Events, until: Moment | None
) -> tuple[list[EpochWindow], EpochWindow | None]:
    """Return the epochs that are over, and the first that may go on: the last one, if nobody says what time it is."""
    if until is None:
        return list(windows[:-1]), windows[-1] if windows else None
    now, epochs = log.log.microseconds(until), log.log.epochs
    if epochs is None or epochs.kind == COLUMN:
        # A value of a column goes on until the next one begins.
        begun = [one for one in windows if _first(one) <= now]
        return begun[:-1], begun[-1] if begun else None
    over = [one for one in windows if epoch_start(epochs.kind, one.number + 1) <= now]
    return over, next((one for one in windows if one not in over), None)


def _unreported(over: Sequence[EpochWindow], lines: Sequence[MonitorLine]) -> list[EpochWindow]:
    """Return the epochs after the last one that was reported; what comes late for earlier ones stays out."""
    if not lines:
        return list(over)
    reported = {line.epoch for line in lines}
    places = [place for place, one in enumerate(over) if one.label in reported or one.number <= lines[-1].number]
    return list(over[max(places, default=-1) + 1 :])


def _followed(
    named: Sequence[NamedPolicy], marks: dict[str, str], lines: Sequence[MonitorLine], delta: float
) -> list[Followed]:
    """Return the policies with the states that they have reached and their shares of delta."""
    known = {one.name: one for one in lines[-1].policies} if lines else {}
    first = len(lines[0].policies) if lines else len(named)
    later, followed = len(marks) - first if lines else 0, []
    for policy in named:
        if policy.name in known:
            if marks.get(policy.name) != mark_of_policy(policy):
                raise UsageError(
                    f"The policy {quoted(policy.name)} chooses otherwise than when it was followed first.",
                    "Bounds are about one policy: give the new one a new name.",
                )
            one = known[policy.name]
            followed.append(Followed(policy, one.delta / 2, EpochState.from_dict(one.state)))
            continue
        if policy.name in marks:
            raise UsageError(
                f"The policy {quoted(policy.name)} was left out of an earlier look, and cannot be taken up again.",
                "Give it a new name, to follow it from now on.",
            )
        later += bool(lines)
        share = delta / 2 ** (later + 1) if lines else delta / (2 * len(named))
        followed.append(Followed(policy, share / 2, EpochState.start()))
    return followed


def _policy_line(
    one: Followed, steps: Steps, place: int, lines: Sequence[MonitorLine], now: str, *, state: bool
) -> FollowedPolicy:
    name = one.policy.name
    since = next((old.since for line in lines[-1:] for old in line.policies if old.name == name), now)
    return FollowedPolicy(name, 2 * one.delta, since, steps.epochs[place], steps.state.to_dict() if state else {})


def _line(
    window: EpochWindow, before: Sequence[MonitorLine], policies: Sequence[FollowedPolicy], *, kind: str
) -> MonitorLine:
    """Return the line of an epoch, with alarms for drift and lost support."""
    events = window.events.window.events
    number = len(before) if kind == COLUMN else window.number
    line = MonitorLine(window.label, number, events, window.rewards, window.squares, tuple(policies))
    missing = _missing(before[-1].number, number, kind) if before and kind != COLUMN else ()
    return replace(line, missing=missing, alarms=(*_drift(line, before), *_lost_support(line, before)))


def _missing(last: int, number: int, kind: str) -> tuple[str, ...]:
    gap = range(last + 1, number)
    if len(gap) <= NAMED:
        return tuple(epoch_label(kind, one) for one in gap)
    ends = epoch_label(kind, gap[0]), epoch_label(kind, gap[-1])
    return (f"{len(gap):,} epochs, {ends[0]} to {ends[1]}",)


def _drift(line: MonitorLine, before: Sequence[MonitorLine]) -> list[str]:
    """Compare the mean reward of logging in this epoch with that of all before it."""
    n, rewards, squares = (sum(getattr(one, name) for one in before) for name in ("events", "rewards", "squares"))
    if not n:
        return []
    mean, all_n = rewards / n, n + line.events
    variance = (squares + line.squares) / all_n - ((rewards + line.rewards) / all_n) ** 2
    error = math.sqrt(max(variance, 0.0) * (1 / n + 1 / line.events))
    if abs(line.logging - mean) <= DRIFT * error:
        return []
    return [
        f"Drift: in {line.epoch} the mean reward (from 0 to 1) was {line.logging:.4g}, and {mean:.4g} before. (WS102)"
    ]


def _lost_support(line: MonitorLine, before: Sequence[MonitorLine]) -> list[str]:
    alarms = []
    for one in line.policies:
        earlier = [
            (old.estimate.events, old.estimate.supported)
            for past in before
            for old in past.policies
            if old.name == one.name
        ]
        events = sum(n for n, _ in earlier)
        usual = sum(n * share for n, share in earlier) / events if events else 0.0
        if one.estimate.supported < LOST * usual:
            now = f"{one.estimate.supported:.1%} of the traffic of {line.epoch}"
            alarms.append(
                f"Lost support: the log supports {quoted(one.name)} on {now}, and {usual:.1%} before. (WS104)"
            )
    return alarms


def _reaction(events: Events) -> list[str]:
    """Look for a logging policy that reacts to rewards inside the epochs that propensities are counted in."""
    from warmstart.pipeline.audit import recommended_epoch

    facts, epochs = recommended_epoch(events), events.log.epochs
    name = None if epochs is None else epochs.column or epochs.kind
    result = [] if facts is None else [row for row in facts.lengths if row.name == name and row.reacts]
    return [
        f"Reaction: the logging policy reacts to rewards within {row.words}; bounds need it not to. (WS111)"
        for row in result
    ]


def _changed(lines: Sequence[MonitorLine], windows: Sequence[EpochWindow]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the rows that came late for reported epochs, or for missing ones before them; and those that vanished."""
    if not lines:
        return {}, {}
    reported = {line.epoch: line.events for line in lines}
    now = {one.label: one.events.window.events for one in windows}
    places = [place for place, one in enumerate(windows) if one.label in reported]
    past = {one.label for one in windows[: max(places, default=-1) + 1]} | set(reported)
    changes = {epoch: now.get(epoch, 0) - reported.get(epoch, 0) for epoch in sorted(past)}
    late = {epoch: change for epoch, change in changes.items() if change > 0}
    return late, {epoch: -change for epoch, change in changes.items() if change < 0}
