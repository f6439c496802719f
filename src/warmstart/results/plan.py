"""A plan: where to explore, with which share and for how long, until a question about a policy is decided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from warmstart.core import (
    MICROSECONDS_PER_DAY,
    counted,
    iso,
    minute,
    more,
    percent,
    printable,
    quoted,
    shortened,
    span,
)
from warmstart.results.amounts import Amounts
from warmstart.results.display import Result, TextTable, plain

# More rows of contexts than these are only in the table.
SHOWN = 10


@dataclass(frozen=True)
class PlanOption:
    """One way to decide the question: a ``share`` of the events of some contexts shows the policy's choices.

    ``tau``: the floor of the propensity to evaluate the new events with; ``contexts``: those to explore in, and
    ``traffic``: their share of all events; ``events``: how many new events there must be, None if no log of a reachable
    length would do; ``days``: how long that takes; ``supported``: the part of the policy's traffic that the new events
    support. Per event of all traffic: ``change``, what exploring earns more if the policy is as good as assumed;
    ``worst``, what it costs if the policy's choices earn the least possible.
    """

    share: float
    tau: float
    contexts: int
    traffic: float
    events: int | None
    days: float | None
    supported: float | None
    change: float
    worst: float


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """What would decide whether a policy is better than logging: the recommended option, and all that were compared.

    ``gain``: what the policy is taken to gain over logging, per event of all traffic, as ``gain_from`` says: stated, or
    the best estimate of this log; None if there is none. ``power``: the chance to prove it; ``delta``: as for
    ``evaluate``. ``coverage``: the part of the policy's traffic that exploration aims at; ``supported``: the part that
    this log supports. ``certified_lower``: what this log proves of the gain, if anything. ``trained``: whether this log
    is the training window when the new events are evaluated. ``share``: of the recommended option, None if there is
    none. ``columns``, ``rows``: the busiest contexts to explore in. ``table``: what to show there, as a pyarrow table
    of context columns, action and probability; not part of the JSON.
    """

    policy: str
    reward: str
    reward_range: tuple[float, float]
    mean_reward: float
    events: int
    days: float | None
    until: int | None
    gain: float | None
    gain_from: Literal["stated", "estimated"]
    gain_lower: float | None
    gain_upper: float | None
    certified_lower: float | None
    learned_here: bool
    power: float
    delta: float
    coverage: float
    supported: float
    unit: tuple[str, ...]
    epoch: str | None
    trained: bool
    share: float | None
    options: tuple[PlanOption, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    source: str
    version: str
    table: Any = field(default=None, compare=False)

    @property
    def recommended(self) -> PlanOption | None:
        """Return the option to take."""
        return next((option for option in self.options if option.share == self.share), None)

    @property
    def amounts(self) -> Amounts:
        """Return the units that gains are told in."""
        return Amounts.by_mean(self.mean_reward, self.reward_range[0])

    @property
    def is_open(self) -> bool:
        """Tell whether this log leaves the question open."""
        return self.certified_lower is None or self.certified_lower <= 0

    @property
    def verdict(self) -> str:
        """Return what to do in one sentence, or two where nothing is open any more."""
        what, why = self.decision
        return f"{what}: {why}." if self.is_open else f"{what}. {why}."

    @property
    def decision(self) -> tuple[str, str]:
        """Return what to do in a few words, and what comes of it."""
        what, why = self._to_do
        if self.certified_lower is None or self.is_open:
            return what, why
        least = self.amounts.at_least(self.certified_lower)
        what = f"Nothing is open: this log already proves a gain of at least {least}"
        if self.recommended is None or self.recommended.events is None:
            return what, "No further log is needed"
        return (
            what,
            f"No further log is needed. A second proof, on new events alone, would take this: {self._to_do_inside}",
        )

    @property
    def _to_do_inside(self) -> str:
        """Return what would have to be done, inside a sentence."""
        what, why = self._to_do
        return f"{what[:1].lower()}{what[1:]}; {why}"

    @property
    def _to_do(self) -> tuple[str, str]:
        name = quoted(self.policy)
        if self.gain is None or self.gain <= 0:
            return "There is no gain to prove", self._no_gain(name)
        if not self.options:
            return "There is no gain to prove", f"{name} chooses what is shown already"
        chance = f"a gain of {self._gain_words} is then proven with a chance of {percent(self.power)}"
        option = self.recommended
        if option is None or option.events is None:
            return f"No log of a reachable length proves a gain of {self._gain_words}", "explore more, or ask for more"
        length = f"about {counted(_about(option.events), 'event')}{self._duration(option.days)}"
        if option.share == 0:
            return f"Go on as now for {length}", chance
        where = f"{percent(option.share)} of the events of {counted(option.contexts, 'context')}"
        return f"Show the choices of {name} on {where} for {length}", chance

    @property
    def headline(self) -> list[str]:
        """Return the verdict, how things stand now, and what all of it is about."""
        now = f"This log supports {percent(self.supported)} of the policy's traffic"
        return [self.verdict, f"{now}; {self._exploring}", self.about]

    @property
    def about(self) -> str:
        """Name the reward, what logging earned, the log and its span."""
        mean = f"{self.amounts.number(self.mean_reward)} {self.amounts.unit}"
        log = f" Log: {shortened(self.source, 120)}: " if self.source else " Log: "
        return f"{quoted(shortened(self.reward, 60))}: more is better; what was shown got {mean}.{log}{self._span}."

    @property
    def _span(self) -> str:
        """Say how many events the log has, from when to when."""
        events = counted(self.events, "event")
        if self.until is None or self.days is None:
            return events
        return f"{events}, {span(round(self.until - self.days * MICROSECONDS_PER_DAY), self.until, steps=False)}"

    @property
    def tables(self) -> list[TextTable]:
        """Return the options side by side, and the busiest contexts to explore in."""
        return [table for table in (self.options_table, self.contexts_table) if table.rows]

    @property
    def options_table(self) -> TextTable:
        """Return what each share takes and costs."""
        unit = self.amounts.unit
        header = ["share", "contexts", "of the events", "new events", "days", "supported", "tau"]
        header += [f"exploring earns {unit}", "at worst"]
        rows = [
            [
                percent(one.share) + (" *" if one.share == self.share else ""),
                f"{one.contexts:,}",
                percent(one.traffic),
                "-" if one.events is None else f"{_about(one.events):,}",
                "-" if one.days is None else f"{one.days:,.1f}",
                percent(one.supported),
                f"{one.tau:.3g}",
                self.amounts.signed_number(one.change),
                self.amounts.signed_number(-one.worst),
            ]
            for one in self.options
        ]
        if self.days is None:
            header, rows = ([*header[:4], *header[5:]], [[*row[:4], *row[5:]] for row in rows])
        return TextTable("What each share takes (* recommended)", header, rows)

    @property
    def contexts_table(self) -> TextTable:
        """Return the busiest contexts to explore in."""
        rows = [[shortened(cell, 30) for cell in row[:-2]] + [f"{row[-2]:,}", percent(row[-1])] for row in self.rows]
        title = "Explore here: the busiest contexts, and what to show there"
        return TextTable(title, self.columns, rows[:SHOWN], left=len(self.columns) - 2)

    @property
    def notes(self) -> list[str]:
        """Return what to evaluate then, and what the plan rests on."""
        said = [self._then] if self.recommended is not None and self.recommended.events is not None else []
        if said and self.share:
            said.append(
                "Mix, do not switch: with the rest of the chance, show what would have been shown anyway, drawing anew "
                "for every event. The table of probabilities (.table, --out) does that with this log's shares."
            )
        if self.gain_from == "estimated" and self.gain is not None and self.gain > 0:
            said.append(self._estimate_words)
        if self.learned_here:
            said.append(f"{quoted(self.policy)} learned from these very events, so that its estimate is too high.")
        said += self._assumptions if self.options else []
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the table as plain dictionaries."""
        own = {one.name: plain(getattr(self, one.name)) for one in fields(self) if one.name != "table"}
        until = None if self.until is None else iso(self.until)
        said = {"headline": self.headline, "explanations": self.notes}
        head = {**self._head(), "verdict": self.verdict, **said}
        return {**head, **{"warmstart_version" if k == "version" else k: v for k, v in own.items()}, "until": until}

    def _rows(self) -> list[dict[str, Any]]:
        return [{**plain(option), "recommended": option.share == self.share} for option in self.options]

    @property
    def _gain_words(self) -> str:
        gain = self.gain or 0.0
        relative = f" ({more(gain / self.amounts.base)})" if self.amounts.base else ""
        return f"{self.amounts.number(gain)} {quoted(self.reward)} {self.amounts.unit}{relative}"

    def _no_gain(self, name: str) -> str:
        if self.gain is None:
            return f"this log says nothing about what {name} earns. State a gain to plan for one"
        if self.gain == 0:
            return f"the best estimate says that {name} earns what is earned now. State a gain to plan for one"
        less = f"{self.amounts.number(-self.gain)} {self.amounts.unit}"
        return (
            f"the best estimate says that {name} earns {less} less than what is shown now. State a gain to plan for one"
        )

    def _duration(self, days: float | None) -> str:
        if days is None:
            return ""
        return f" ({counted(days, 'day')})" if days >= 1.5 else f" ({24 * days:.2g} hours)"

    @property
    def _exploring(self) -> str:
        aim = percent(self.coverage)
        if self.share:
            return f"exploration {'aims' if self.is_open else 'would aim'} at {aim} of it."
        return f"{aim} or more need no exploration." if self.share == 0 else f"{aim} would be enough."

    @property
    def _then(self) -> str:
        option = self.recommended
        tau = "" if option is None else f" --tau {option.tau:.3g}"
        if self.trained and self.until is not None:
            return (
                "Then evaluate the new events alone, this log being the training window: warmstart evaluate with "
                f"--test-from the first new event (this log ends {minute(self.until)} UTC), this one policy and{tau}."
            )
        why = "units of this log may come back" if self.unit else "the log was read without times"
        return f"Then evaluate the new events alone, without a training window ({why}): this one policy and{tau}."

    @property
    def _estimate_words(self) -> str:
        ends = ""
        if self.gain_lower is not None and self.gain_upper is not None:
            low, high = (self.amounts.signed_number(end) for end in (self.gain_lower, self.gain_upper))
            ends = f" (between {low} and {high} {self.amounts.unit}, about)"
        return (
            f"The gain is this log's own best estimate{ends}. If the truth is half of it, four times the events are "
            "needed: state the smallest gain that matters (--gain)."
        )

    @property
    def _assumptions(self) -> list[str]:
        said = (
            f"The chance of {percent(self.power)} holds if traffic, mean rewards and the logging policy go on as in "
            "this log, if the gain is as assumed and the same wherever the policy differs from logging, and for one "
            f"policy at one tau with delta = {self.delta:g}."
        )
        notes = [said]
        if self.unit:
            notes.append(
                f"By unit ({', '.join(map(printable, self.unit))}): each comes as often as in this log, and more "
                "events are more units. Bets by unit allow for the worst, so that the chance is rather higher."
            )
        if self.epoch is not None:
            notes.append(f"Propensities are counted within epochs ({self.epoch}), which are as long as in this log.")
        return notes


def _about(events: int) -> int:
    """Round a number of events up to two digits."""
    step = int(10 ** max(math.floor(math.log10(max(events, 1))) - 1, 0))
    return math.ceil(events / step) * step
