"""Off-policy evaluation's answer, "what would these policies have earned?", as one value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from warmstart.core import Outcome, Window, WindowName, quoted, shortened
from warmstart.results import evaluation_notes, evaluation_tables
from warmstart.results.amounts import Amounts
from warmstart.results.assumptions import Assumption
from warmstart.results.display import Result, TextTable, fields_of, plain
from warmstart.results.estimate import ValueEstimate
from warmstart.results.propensities import PropensitySource
from warmstart.results.remarks import Remark

if TYPE_CHECKING:
    from warmstart.results.verdict import Verdict

REWARD_ONLY = (Outcome("reward"),)


@dataclass(frozen=True)
class LogSummary:
    """The whole log given: training and evaluated windows together.

    ``unit``: the columns of whoever comes back, if they were named; ``context``: those of the context. ``source``: the
    file or table, as it was named. ``mean_reward``: what logging earned per event (or unit) of the evaluated window,
    which policies are compared with; ``other_means``: the same of the further outcomes, where they are known.
    """

    events: int
    contexts: int
    actions: int
    cells: int
    dropped: int
    one_action_share: float
    unit: tuple[str, ...] = ()
    source: str = ""
    mean_reward: float = 0.0
    other_means: tuple[float, ...] = ()
    context: tuple[str, ...] = ()


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
    the same for parts of the traffic, told apart ``by`` columns. ``margin``: changes of the reward up to this make no
    difference that matters, if one was given. ``assumptions``: what all of it rests on. ``with_selection``: whether its
    page and its JSON tell what ``select`` finds. ``to_arrow`` and ``to_pandas`` give one row per policy, outcome,
    segment and tau.
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
    margin: float | None = None
    doubt: float | None = None
    assumptions: tuple[Assumption, ...] = ()
    with_selection: bool = False

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
        place = next((i for i, outcome in enumerate(self.outcomes) if outcome.name == name), None)
        if place is None:
            raise KeyError(_no_such("outcome", name, [outcome.name for outcome in self.outcomes]))
        outcome, means = self.outcomes[place], (self.log.mean_reward, *self.log.other_means)
        estimates = tuple(one for one in (*self.policies, *self.others) if one.outcome == name)
        log = replace(self.log, mean_reward=means[place], other_means=())
        # A margin is an amount of the reward.
        margin = self.margin if place == 0 else None
        own = replace(self, policies=estimates, others=(), segments=(), outcomes=(outcome,), reward_range=outcome.range)
        return replace(own, margin=margin, log=log)

    @cached_property
    def verdict(self) -> Verdict | None:
        """Return what to do: about the selected policy, else the most promising one; None for logging alone."""
        from warmstart.results.verdict import first_verdict

        return first_verdict(self)

    def verdict_on(self, estimate: ValueEstimate) -> Verdict:
        """Return what to do about one policy at one tau."""
        from warmstart.results.verdict import verdict_of

        return verdict_of(self, estimate)

    @property
    def headline(self) -> list[str]:
        """Return the verdict, its reason, what would settle an open question, and what all is about."""
        return evaluation_notes.headline(self)

    def __getitem__(self, key: str | tuple[str, float]) -> ValueEstimate:
        """Return the estimate of a policy by its name (at the first tau asked for), or by name and tau."""
        name, tau = key if isinstance(key, tuple) else (key, None)
        for estimate in self.policies:
            if estimate.policy == name and tau in (None, estimate.tau):
                return estimate
        raise KeyError(_no_such("policy", name, [one.policy for one in self.policies], tau))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it; non-finite numbers are None."""
        from warmstart.results.segments import segment_gains
        from warmstart.results.selection import select
        from warmstart.results.tradeoffs import tradeoffs
        from warmstart.results.waterfall import change_parts

        parts = fields_of(self)
        selected = {"selected": select(self).to_dict()} if parts.pop("with_selection") else {}
        verdicts = [None if one.is_logging else fields_of(self.verdict_on(one)) for one in self.policies]
        own = [{**one, "verdict": verdict} for one, verdict in zip(parts.pop("policies"), verdicts, strict=True)]
        others = [{**one, "verdict": None} for one in parts.pop("others")]
        gains = {id(one.estimate): one.to_dict() for one in segment_gains(self)}
        others += [
            {**one, "verdict": None, **gains.get(id(estimate), {})}
            for one, estimate in zip(parts.pop("segments"), self.segments, strict=True)
        ]
        first: dict[str, Any] = {
            "verdict": None if self.verdict is None else fields_of(self.verdict),
            "reward": self.reward.name,
        }
        first |= {"outcomes": parts.pop("outcomes"), "policies": [*own, *others]}
        more = {"notes": parts.pop("remarks"), "warmstart_version": parts.pop("version")}
        more |= {
            "tradeoffs": plain(tradeoffs(self)),
            "waterfall": plain(change_parts(self)),
            "headline": self.headline,
            "explanations": self.notes,
        }
        log = {**parts.pop("log"), "reward_range": parts["reward_range"]}
        return {**self._head(), **first, **parts, "log": log, **more, **selected}

    def _rows(self) -> list[dict[str, Any]]:
        nothing = {"verdict": None, "evidence": None, "guards": None}
        parts = (*self.others, *self.segments)
        return [
            *({**one.row(), **(nothing if one.is_logging else self._judged(one))} for one in self.policies),
            *({**one.row(), **nothing} for one in parts),
        ]

    def _judged(self, estimate: ValueEstimate) -> dict[str, str | None]:
        """Return the verdict on a policy, and what is known of its guards, as cells of a row."""
        own = self.verdict_on(estimate)
        guards = "; ".join(f"{one.guard}: {one.status}" for one in estimate.guards)
        return {"verdict": own.kind, "evidence": own.evidence, "guards": guards or None}

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
        """Show two digits of the smallest value or width in the tables, per event."""
        intervals = [part for e in self.policies for part in (e, e.best, e.gain.certified, e.gain.estimated)]
        sizes = [abs(e.value) for e in self.policies if e.value is not None]
        sizes += [i.upper - i.lower for i in intervals if i and i.upper is not None and i.lower is not None]
        low, high = self.reward_range
        smallest = min((size for size in sizes if size > 1e-9 * (high - low)), default=high - low)
        return min(max(1 - math.floor(math.log10(smallest)), 0), 12)

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """Show an amount with as many digits as the table needs, in the units that its title names."""
        if value is None:
            return "-"
        times = Amounts.of(self).times
        decimals = max(self._decimals - round(math.log10(times)), 0)
        return f"{round(times * value, decimals) + 0.0:{'+' if signed else ''},.{decimals}f}"


def _no_such(kind: str, name: str, names: Sequence[str], tau: float | None = None) -> str:
    at = "" if tau is None else f" at tau {tau:g}"
    return f"There is no {kind} {quoted(name)}{at}: there are {', '.join(map(quoted, dict.fromkeys(names)))}."
