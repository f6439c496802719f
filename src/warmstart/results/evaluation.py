"""Off-policy evaluation's answer, "what would these policies have earned?", as one value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from warmstart.core import Outcome, Window, WindowName, shortened
from warmstart.results import evaluation_notes, evaluation_tables
from warmstart.results.display import SCHEMA, Result, TextTable, fields_of
from warmstart.results.estimate import ValueEstimate
from warmstart.results.propensities import PropensitySource
from warmstart.results.remarks import Remark

REWARD_ONLY = (Outcome("reward"),)


@dataclass(frozen=True)
class LogSummary:
    """The whole log given: training and evaluated windows together.

    ``unit``: the columns of whoever comes back, if they were named.
    """

    events: int
    contexts: int
    actions: int
    cells: int
    dropped: int
    one_action_share: float
    unit: tuple[str, ...] = ()


@dataclass(frozen=True)
class Windows:
    """Which events gave what: the evaluated traffic and the feasible sets."""

    evaluated: Window
    train: Window | None
    feasible_from: WindowName
    live: bool
    whole_log: bool = False


@dataclass(frozen=True)
class Contribution:
    """One context or action: its part of a policy's estimated rewards, and of the traffic on which it is chosen."""

    policy: str
    tau: float
    kind: Literal["context", "action"]
    name: tuple[object, ...]
    share: float
    traffic: float
    events: int


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Estimates for several policies and taus on one window. Iterates over its estimates of the reward.

    ``others``: the same for further outcomes; ``outcomes``: what they are, the reward (or utility) first. ``segments``:
    the same for parts of the traffic, told apart ``by`` columns. ``to_arrow`` and ``to_pandas`` give one row per
    policy, outcome, segment and tau.
    """

    policies: tuple[ValueEstimate, ...]
    windows: Windows
    log: LogSummary
    reward_range: tuple[float, float]
    version: str
    propensities: PropensitySource
    learned_here: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    remarks: tuple[Remark, ...] = ()
    per: Literal["event", "unit"] = "event"
    others: tuple[ValueEstimate, ...] = ()
    outcomes: tuple[Outcome, ...] = REWARD_ONLY
    by: tuple[str, ...] = ()
    segments: tuple[ValueEstimate, ...] = ()

    def __iter__(self) -> Iterator[ValueEstimate]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    @property
    def reward(self) -> Outcome:
        """Return the outcome that policies are judged by: the reward, or the utility."""
        return self.outcomes[0]

    def of_outcome(self, name: str) -> Evaluation:
        """Return the same evaluation with another outcome in the place of the reward."""
        outcome = next((outcome for outcome in self.outcomes if outcome.name == name), None)
        if outcome is None:
            raise KeyError(name)
        own = tuple(one for one in (*self.policies, *self.others) if one.outcome == name)
        return replace(self, policies=own, others=(), outcomes=(outcome,), reward_range=outcome.range, segments=())

    def __getitem__(self, key: str | tuple[str, float]) -> ValueEstimate:
        """Return the estimate of a policy by its name (at the first tau asked for), or by name and tau."""
        name, tau = key if isinstance(key, tuple) else (key, None)
        for estimate in self.policies:
            if estimate.policy == name and tau in (None, estimate.tau):
                return estimate
        raise KeyError(key)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it; non-finite numbers are None."""
        parts = fields_of(self)
        return {
            "schema": SCHEMA,
            "reward": self.reward.name,
            "outcomes": parts["outcomes"],
            "policies": [*parts["policies"], *parts["others"], *parts["segments"]],
            "windows": parts["windows"],
            "log": {**parts["log"], "reward_range": parts["reward_range"]},
            "propensities": parts["propensities"],
            "per": self.per,
            "notes": parts["remarks"],
            "warmstart_version": self.version,
            **({"contributions": parts["contributions"]} if self.contributions else {}),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [estimate.row() for estimate in (*self.policies, *self.others, *self.segments)]

    @property
    def tables(self) -> list[TextTable]:
        """Return what people look at: the values, the traffic they rest on, the gain over logging."""
        return evaluation_tables.tables(self)

    @property
    def notes(self) -> list[str]:
        """Return in plain words what the numbers are and what they rest on."""
        return evaluation_notes.notes(self)

    def shown(self) -> Iterator[tuple[tuple[str, str], ValueEstimate]]:
        """Yield the estimates to show with their first two cells; logging has no tau and is shown once."""
        shown = set()
        for estimate in self.policies:
            if not (estimate.is_logging and estimate.policy in shown):
                shown.add(estimate.policy)
                yield (shortened(estimate.policy, 30), "any" if estimate.is_logging else f"{estimate.tau:g}"), estimate

    @property
    def first(self) -> ValueEstimate:
        """Return the estimate whose interval and guarantee label the tables: logging's are better than most."""
        return next((e for e in self.policies if not e.is_logging), self.policies[0])

    @cached_property
    def _decimals(self) -> int:
        """Show two digits of the smallest value or width in the tables."""
        intervals = [part for e in self.policies for part in (e, e.best, e.gain.certified, e.gain.estimated)]
        sizes = [abs(e.value) for e in self.policies if e.value is not None]
        sizes += [i.upper - i.lower for i in intervals if i and i.upper is not None and i.lower is not None]
        low, high = self.reward_range
        smallest = min((size for size in sizes if size > 1e-9 * (high - low)), default=high - low)
        return min(max(1 - math.floor(math.log10(smallest)), 0), 12)

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """Show a value with as many digits as the table needs."""
        if value is None:
            return "-"
        return f"{round(value, self._decimals) + 0.0:{'+' if signed else ''}.{self._decimals}f}"
