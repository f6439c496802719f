"""Until when decisions were fitted: bounds hold only for decisions that were fixed before the evaluated window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from warmstart.core import UsageError, quoted
from warmstart.pipeline.returning import returning_share

if TYPE_CHECKING:
    from warmstart.events import Events
    from warmstart.policy import FittedPolicy, NamedPolicy

NEVER = "never"


class Training(NamedTuple):
    """What policies saw of rewards, by name: those of the window (``learned``), or earlier ones of units that return.

    The latter are ``doubtful``. ``unsaid``: decisions of which nobody said. ``returning``: the share of the window's
    units that training knows.
    """

    learned: tuple[str, ...]
    doubtful: tuple[str, ...]
    unsaid: tuple[str, ...]
    returning: float

    @property
    def unproven(self) -> frozenset[str]:
        """Return the policies of which nothing is certified."""
        return frozenset((*self.learned, *self.doubtful))


def training_of(named: Sequence[NamedPolicy], trained_until: Any, events: Events, train: Events | None) -> Training:
    """Return what policies saw of the rewards that they are evaluated on.

    Args:
        named: The policies.
        trained_until: As ``evaluate`` takes it.
        events: The evaluated window.
        train: The training window, if there is one.
    """
    fitted = fitted_decisions(trained_until, named, events)
    learned = tuple(p.name for p in named if _learned_here(p.fitted, events) or p.name in fitted.here)
    returning = returning_share(events, train)
    doubtful = tuple(p.name for p in named if returning and (p.fitted is not None or p.name in fitted.before))
    return Training(learned, doubtful, fitted.unsaid, returning)


class Fitted(NamedTuple):
    """Decisions by name: fitted on events of the window (``here``), until before it, and of which nobody said."""

    here: tuple[str, ...]
    before: tuple[str, ...]
    unsaid: tuple[str, ...]


def fitted_decisions(trained_until: Any, named: Sequence[NamedPolicy], events: Events) -> Fitted:
    """Return which decisions were fitted on rewards, and when.

    Args:
        trained_until: A time, "never" (not fitted on rewards), or a mapping from policies to these.
        named: The policies; keywords, and policies that know what they learned from, are not asked about.
        events: The evaluated window. What was fitted until after its first event has seen some of it.
    """
    tables = [policy.name for policy in named if policy.is_decisions]
    given = trained_until if isinstance(trained_until, Mapping) else dict.fromkeys(tables, trained_until)
    for name in given:
        if name not in tables:
            known = f"There are {', '.join(map(quoted, tables))}." if tables else "None was given."
            raise UsageError(f"trained_until names {quoted(name)}, which is no table of decisions.", known)
    said = {name: moment for name, moment in given.items() if moment is not None}
    fitted = {name: _reaches(moment, events) for name, moment in said.items() if moment != NEVER}
    here, before = (tuple(name for name, reaches in fitted.items() if reaches is wanted) for wanted in (True, False))
    return Fitted(here, before, tuple(name for name in tables if name not in said))


def parse_trained_until(texts: Iterable[str], named: Sequence[NamedPolicy]) -> dict[str, str]:
    """Return by policy what was said as ``TIME``, ``never``, ``NAME=TIME`` or ``NAME=never``.

    Without a name it is said of all decisions that are not named.
    """
    general: list[str] = []
    by_name: dict[str, str] = {}
    for text in texts:
        name, equals, moment = text.rpartition("=")
        if name in by_name or (general and not equals):
            of = f" for {quoted(name)}" if equals else ""
            raise UsageError(f"--trained-until is given twice{of}.", "Say it once.")
        if equals:
            by_name[name] = moment
        else:
            general.append(moment)
    return {policy.name: moment for moment in general for policy in named if policy.is_decisions} | by_name


def _reaches(moment: Any, events: Events) -> bool:
    first = events.window.first
    if events.columns.time is None or first is None:
        raise UsageError(
            "trained_until is a time, and the times of the events are not known.",
            "Name the time column: time=... (--time), or say 'never' if the decisions were not fitted on rewards.",
        )
    return events.log.microseconds(moment) > first


def _learned_here(fitted: FittedPolicy | None, events: Events) -> bool:
    """Tell whether a policy learned from events of the evaluated window; without times, nobody knows, so it did."""
    if fitted is None:
        return False
    if fitted.folds is not None and not fitted.folds.overlap(events.folds):
        return False
    learned, window = fitted.window, events.window
    if learned.last is None or window.first is None or learned.first is None or window.last is None:
        return True
    return learned.first <= window.last and window.first <= learned.last
