"""What a monitor knows: a line for every epoch of a growing log, each with bounds that hold at every look."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warmstart.core import counted, percent, quoted, shortened
from warmstart.results.amounts import Amounts
from warmstart.results.display import Result, TextTable, fields_of
from warmstart.results.epochs import EpochEstimate

TOO_MANY_ROWS = 14


@dataclass(frozen=True)
class FollowedPolicy:
    """A policy in one epoch: its share of delta, since which epoch it is followed, what it earned, and so far.

    Half of the share is for its value, half for its gain.

    ``state``: all that the next epoch needs to go on from.
    """

    name: str
    delta: float
    since: str
    estimate: EpochEstimate
    state: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class MonitorLine:
    """One epoch: its events and their mean reward under logging, the policies that are followed, and alarms.

    ``missing``: epochs between the one before and this one that had no events. A number is that of an epoch by hour,
    day or week, since 1970; of a column, its place.
    """

    epoch: str
    number: int
    events: int
    rewards: float
    squares: float
    policies: tuple[FollowedPolicy, ...]
    missing: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    @property
    def logging(self) -> float:
        """Return the mean reward of logging, in [0, 1]."""
        return self.rewards / self.events


@dataclass(frozen=True, repr=False)
class Monitor(Result):
    """The lines of a monitor. ``new``: how many this look added. ``late``: rows that came late, by reported epoch.

    ``waiting``: the newest epoch of the log, which has not ended and is not reported yet. ``reward``, ``source``: what
    the log calls the reward, and where it was read from.
    """

    lines: tuple[MonitorLine, ...]
    new: int
    delta: float
    late: dict[str, int]
    vanished: dict[str, int]
    waiting: str | None
    reward_range: tuple[float, float]
    version: str
    reward: str = "reward"
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it."""
        said = {"decision": self.decision, "headline": self.headline, "explanations": self.notes}
        return {**self._head(), "verdict": self.verdict, **said, **fields_of(self)}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"policy": one.name, "since": one.since, "delta": one.delta, **vars(one.estimate)}
            for line in self.lines
            for one in line.policies
        ]

    @property
    def last(self) -> MonitorLine | None:
        """Return the newest line."""
        return self.lines[-1] if self.lines else None

    @property
    def alarms(self) -> tuple[str, ...]:
        """Return the alarms of the newest line."""
        return self.last.alarms if self.last else ()

    @property
    def verdict(self) -> list[str]:
        """Say of every policy whether it is better than logging, as of the newest line."""
        if self.last is None:
            return []
        return [_verdict(one, self.amounts, self.reward) for one in self.last.policies if one.name != "logging"]

    @property
    def mean_reward(self) -> float:
        """Return what logging earned per event, in all epochs."""
        (low, high), events = self.reward_range, sum(line.events for line in self.lines)
        return low + (high - low) * sum(line.rewards for line in self.lines) / events

    @property
    def amounts(self) -> Amounts:
        """Return the units that gains are told in."""
        return Amounts.by_mean(self.mean_reward, self.reward_range[0])

    @property
    def first(self) -> FollowedPolicy | None:
        """Return the policy to speak of first: the one proven to gain most, an open one, or the least bad."""
        others = [one for one in self.last.policies if one.name != "logging"] if self.last else []
        open_ends = -math.inf, math.inf

        def promise(one: FollowedPolicy) -> tuple[int, float]:
            lower, upper = one.estimate.gain_lower_so_far, one.estimate.gain_upper_so_far
            lower, upper = open_ends if lower is None or upper is None else (lower, upper)
            return (2, lower) if lower > 0 else (0, upper) if upper < 0 else (1, one.estimate.gain_so_far)

        return max(others, key=promise, default=None)

    @property
    def decision(self) -> list[str]:
        """Return what to do by the policy that promises most, what is known of it, and how sure that is."""
        if self.first is None:
            return []
        ends, name = self.first.estimate, quoted(shortened(self.first.name, 30))
        lower, upper = ends.gain_lower_so_far, ends.gain_upper_so_far
        sentence = _verdict(self.first, self.amounts, self.reward)
        sure = (
            f"Certified: this holds with a confidence of {100 * (1 - self.delta):.6g} % at every look, for all "
            "policies together, if the assumptions at the end do."
        )
        if lower is not None and lower > 0:
            return [f"Use {name} where the log supports it", sentence, sure]
        if upper is not None and upper < 0:
            return ["Keep what is shown: no policy is better", sentence, sure]
        title = f"Keep what is shown, and go on: the log cannot tell yet whether {name} is better"
        return [title, sentence] if lower is None else [title, sentence, sure]

    @property
    def headline(self) -> list[str]:
        """Return what to do and how sure that is, the newest alarms, the other policies, and what it is about."""
        title, *texts = self.decision or [""]
        first = [f"VERDICT: {title}.", *texts] if title else []
        alarms = [f"ALARM: {alarm}" for alarm in self.alarms]
        return [*first, *alarms, *self.of_others.values(), self.about]

    @property
    def of_others(self) -> dict[str, str]:
        """Return what is known of the other policies than the one to speak of first, by their names."""
        followed = [one.name for one in self.last.policies if one.name != "logging"] if self.last else []
        sentences = dict(zip(followed, self.verdict, strict=True))
        return {name: text for name, text in sentences.items() if self.first is None or name != self.first.name}

    @property
    def about(self) -> str:
        """Name the reward, what logging earned, the log and its span."""
        epochs = f"{counted(len(self.lines), 'epoch')} reported"
        if not self.lines:
            return f"{epochs}."
        span = f"{epochs}, {self.lines[0].epoch} to {self.lines[-1].epoch}"
        mean = f"{self.amounts.number(self.mean_reward)} {self.amounts.unit}"
        log = f" Log: {shortened(self.source, 120)}." if self.source else ""
        return f"{quoted(shortened(self.reward, 60))}: more is better; what was shown got {mean}.{log} {span}."

    @property
    def tables(self) -> list[TextTable]:
        """Return what is known at the end of the newest epochs."""
        header = ("epoch", "policy", "events", "value", "so far", "interval so far", "gain so far", "interval so far")
        number = self._number
        rows = [
            (
                line.epoch,
                shortened(one.name, 30),
                f"{one.estimate.events:,}",
                number(one.estimate.value),
                number(one.estimate.value_so_far),
                _span(number, one.estimate.lower_so_far, one.estimate.upper_so_far),
                self._change(one.estimate.gain_so_far),
                _span(self._change, one.estimate.gain_lower_so_far, one.estimate.gain_upper_so_far),
            )
            for line in self.lines[-max(TOO_MANY_ROWS // max(len(self.last.policies if self.last else ()), 1), 1) :]
            for one in line.policies
        ]
        sure = f"{100 * (1 - self.delta):.6g} % for all policies and looks together"
        title = f"{shortened(self.reward, 30)} {self.amounts.unit} by epoch ({sure})" if rows else ""
        return [TextTable(title, header, rows, left=2)] if rows else []

    def _number(self, value: float) -> str:
        """Show an amount; what rounding leaves of a zero counts as that."""
        return self.amounts.number(round(value, 12))

    def _change(self, value: float) -> str:
        return self.amounts.signed_number(round(value, 12))

    @property
    def notes(self) -> list[str]:
        """Return what happened since the last look, and what the numbers are."""
        total = f"{counted(len(self.lines), 'epoch')} reported, {self.new} of them new."
        waiting = "" if self.waiting is None else f" {self.waiting} is not over, or may not be, and waits."
        lines = [total + waiting]
        gaps = [(line.epoch, ", ".join(line.missing)) for line in self.lines if line.missing]
        lines += [f"Without events before {epoch}: {missing}." for epoch, missing in gaps]
        for what, rows in (
            ("came late, and are left out of its line", self.late),
            ("vanished, and still count in its line", self.vanished),
        ):
            if rows:
                named = ", ".join(f"{number:,} for {epoch}" for epoch, number in rows.items())
                lines.append(f"Rows of a reported epoch that {what}: {named}.")
        lines.append(
            "Bounds so far hold at every look at once: with the probability in the title none of them ever misses, for "
            "the first policies and those that were added later together. They rest on this: nothing inside an epoch "
            "reacts to rewards inside it, and each policy was fixed before the epochs it is followed in."
        )
        return lines


def _verdict(one: FollowedPolicy, amounts: Amounts, reward: str) -> str:
    estimate, name = one.estimate, quoted(one.name)
    lower, upper = estimate.gain_lower_so_far, estimate.gain_upper_so_far
    since = f"since {one.since}, supported on {percent(estimate.supported)} of the newest traffic"
    if lower is None or upper is None:
        return f"{name}: nothing is certified, units come back in later epochs ({since})."
    if lower == upper:
        return f"{name} does what logging did wherever an epoch supports it: there is nothing to compare ({since})."
    if lower > 0 or upper < 0:
        least, about = amounts.at_least(min(abs(lower), abs(upper))), amounts.about(abs(estimate.gain_so_far))
        kind = "better" if lower > 0 else "worse"
        verb = f"{'raises' if lower > 0 else 'lowers'} {quoted(reward)} by at least"
        where = f"{name} is {kind} than logging where supported"
        return f"{where}: it {verb} {least}; best estimate {about}; {since}."
    ends = f"certified {amounts.bound(lower, 1)} to {amounts.bound(upper, -1)}"
    changes = f"changes {quoted(reward)} by {amounts.signed(estimate.gain_so_far)}"
    return f"{name} cannot be told from logging yet: where supported it {changes}, {ends}; {since}."


def _span(show: Callable[[float], str], lower: float | None, upper: float | None) -> str:
    return "-" if lower is None or upper is None else f"[{show(lower)}, {show(upper)}]"
