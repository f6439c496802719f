"""The windows of a log: which events a policy is learned from, and which it is evaluated on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import iso
from warmstart.events import Events
from warmstart.pipeline.settings import WindowSettings
from warmstart.policy import parse_policies

if TYPE_CHECKING:
    from warmstart.core import Moment


def training_window(
    events: Events, *, train_until: Moment | None = None, train_fraction: float | None = None
) -> Events:
    """Return the events to learn from: those before a time, the first fraction in time order, or all."""
    WindowSettings(train_until=train_until, train_fraction=train_fraction)
    if train_until is None and train_fraction is None:
        return events
    return events.split(at=train_until, fraction=train_fraction)[0]


def evaluation_windows(
    events: Events, policies: Any = (), *, test_from: Moment | None = None, test_fraction: float | None = None
) -> tuple[Events | None, Events]:
    """Split a log into the training window (None if there is none) and the window to evaluate policies on.

    Off-policy evaluation is certified only on events that the policies did not learn from. So, if no split is
    asked for, the evaluated window begins after the last event that any of the learned ``policies`` has seen;
    without learned policies, or without times, it is the whole log. ``warmstart evaluate`` splits in this way.

    Args:
        events: the log.
        policies: as for ``evaluate``; those that ``fit`` learned know their training windows.
        test_from: evaluate events from this time on; earlier ones are the training window.
        test_fraction: evaluate this last fraction of the events in time order.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 4, "ad": ["a", "b"] * 2, "click": [1, 0, 1, 1],
    ...                 "at": ["2026-10-01", "2026-10-02", "2026-10-03", "2026-10-04"]})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click", time="at")
    >>> train, test = ws.evaluation_windows(events, test_fraction=0.25)
    >>> len(train), len(test)
    (3, 1)
    """
    WindowSettings(test_from=test_from, test_fraction=test_fraction)
    if test_from is not None:
        return events.split(at=test_from)
    if test_fraction is not None:
        return events.split(fraction=1 - test_fraction)
    named = () if isinstance(policies, tuple) and not policies else parse_policies(policies)
    learned = [policy.fitted.window.last for policy in named if policy.fitted is not None]
    last = max((time for time in learned if time is not None), default=None)
    if last is None or events.window.first is None or events.window.first > last:
        return None, events
    return events.split(at=iso(last + 1))
