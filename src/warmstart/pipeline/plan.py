"""What would settle an open question: where to explore, with which share, for how many events."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warmstart.auditing import Continuation, PlannedRows, unit_counts
from warmstart.core import MICROSECONDS_PER_DAY, PROBABILITY, Progress, UsageError, __version__, quoted, silent
from warmstart.estimators import Levels, open_unit_sums
from warmstart.events import days_known, epochs_known, open_cells
from warmstart.pipeline.checks import check_events, check_level, check_maximized, check_uniform, checked_taus
from warmstart.pipeline.each_policy import window_of
from warmstart.pipeline.evaluate import evaluate
from warmstart.pipeline.known_before import known_icc
from warmstart.pipeline.prepare import prepare
from warmstart.pipeline.sources import contexts_repeat
from warmstart.policy import build_policy, parse_policies
from warmstart.results import Plan, PlanOption

if TYPE_CHECKING:
    from warmstart.auditing import UnitVisits
    from warmstart.estimators import WeightedRows
    from warmstart.events import Cells, Events
    from warmstart.policy import NamedPolicy
    from warmstart.results import Evaluation, Tau, ValueEstimate

# Up to a fifth, what is explored until the question is decided hardly depends on the share; only the time does.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
# How many of the busiest contexts a plan names.
NAMED = 25
# Without exploration, the new events may be evaluated with one of these, if the policy stays supported.
TAUS = (0.01, 0.02, 0.05, 0.1, 0.2)


def plan(
    policy: Any,
    events: Events,
    *,
    gain: float | str | None = None,
    power: float = 0.8,
    share: float | None = None,
    coverage: float = 0.9,
    tau: Tau = "auto",
    delta: float = 0.05,
    live: bool = True,
    contexts: Any = None,
    allow_unknown_actions: bool = False,
    name_texts: bool = False,
    on_progress: Progress = silent,
) -> Plan:
    """Say where to explore, with which share and for how many events, until a policy is proven better than logging.

    The power calculation (sample size) is that of the certified gain as ``evaluate`` tests it: on the new events alone,
    one policy at one tau, with this log as the training window if it has times and no units.

    Args:
        policy: One policy, as ``evaluate`` takes it.
        events: The log so far.
        gain: What the policy gains over logging, to plan for: per event of all traffic, or relative to the mean reward
            as in ``"5%"``. By default the best estimate of this log.
        power: The chance to prove the gain.
        share: The share of events that explore, in the contexts that need it; by default compared and chosen: none
            where the log supports the policy, else the smallest with which the question is decided within as many
            events as this log has.
        coverage: The part of the policy's traffic to support: exploration goes to the busiest contexts first.
        tau: The floor of the propensity when the new events are evaluated; "auto" is half of what exploration gives.
        delta: The share of confidence intervals that may miss.
        live: As for ``evaluate``.
        contexts: As for ``evaluate``.
        allow_unknown_actions: Whether decisions may name actions that the log never shows.
        name_texts: As for ``audit``; ``table`` has all names.
        on_progress: Called with the step that begins.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "q"] * 500, "ad": ["a", "b"] * 500, "click": [1, 0, 0, 0] * 250})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.plan("constant:b", events, gain="20%", share=0.1).options[0].contexts
    1
    """
    check_events(events)
    check_maximized(events)
    taus = checked_taus(tau)
    if len(taus) > 1:
        raise UsageError("A plan takes one tau.", "Several would share delta, and need more events.")
    asked = _Asked(gain, power, share, coverage, None if taus[0] == "auto" else taus[0], delta, name_texts)
    asked.check(events)
    named = _one_policy(policy)
    on_progress("evaluating the log so far")
    options: dict[str, Any] = {"live": live, "contexts": contexts, "on_progress": on_progress}
    evaluation = evaluate(
        [named],
        events,
        tau=tau,
        delta=delta,
        propensities="counts",
        allow_unknown_actions=allow_unknown_actions,
        **options,
    )
    asked.check_gain(evaluation.log.mean_reward, evaluation.reward_range)
    log, _ = window_of(named, events, None)
    live = live and days_known(log, None) and named.may_be_live
    by_epoch = epochs_known(log)
    on_progress("summing events into cells")
    with open_cells(log, live=live and not by_epoch, by_epoch=by_epoch) as cells, ExitStack() as resources:
        _check_cells(named, cells)
        inputs = prepare(cells, resources, "counts")
        built = build_policy(
            named,
            cells,
            feasible_from="evaluated",
            live=live,
            strata=inputs.by_epoch,
            allow_unknown=allow_unknown_actions,
            contexts=contexts,
        )
        built = replace(built, table=cells.engine.materialise(built.choices(cells)), seated=False)
        resources.callback(built.table.release)
        weighted = resources.enter_context(inputs.weigh(built, inputs.open_base(built, resources)))
        rows = PlannedRows.of(weighted, cells, resources)
        return _Planning(asked, evaluation, rows, weighted, on_progress).plan(built)


def _one_policy(policy: Any) -> NamedPolicy:
    named = parse_policies(policy)
    if len(named) > 1 or named[0].keyword == "logging":
        raise UsageError("A plan is about one policy other than logging.", "Name one.")
    return named[0]


def _check_cells(named: NamedPolicy, cells: Cells) -> None:
    given = cells.columns.fixed_to_given
    if PROBABILITY in (given[key] for key in cells.columns.keys):
        raise UsageError("A context or action column called 'probability' is in the way.", "Rename it.")
    if not contexts_repeat(cells):
        raise UsageError(
            "Contexts do not repeat, so that no gain could be certified, whatever is explored.",
            "Name fewer or coarser context columns.",
        )
    if named.keyword == "uniform":
        check_uniform(cells, "evaluated")


@dataclass(frozen=True)
class _Asked:
    """The question, as ``plan`` takes it."""

    gain: float | str | None
    power: float
    share: float | None
    coverage: float
    tau: float | None
    delta: float
    name_texts: bool

    def check(self, events: Events) -> None:
        """Refuse numbers that are none of the kind, and what nothing could prove."""
        check_level(self.delta, "bets", ())
        for name, value in (("power", self.power), ("coverage", self.coverage)):
            if not 0 < value <= (1 if name == "coverage" else 0.999):
                raise UsageError(f"{name} (--{name}) must lie between 0 and 1, and is {value:g}.")
        if self.share is not None and not 0 <= self.share < 1:
            raise UsageError(f"share (--share) must be at least 0 and below 1, and is {self.share:g}.")
        if self.share and self.tau is not None and self.share <= self.tau:
            raise UsageError(
                f"A share of {self.share:g} leaves propensities below tau = {self.tau:g}: nothing would be supported.",
                "Ask for a larger share, or a smaller tau.",
            )
        if events.columns.unit and events.log.epochs is not None:
            raise UsageError(
                "Units that come back in later epochs prove nothing, and a log that goes on brings them back.",
                "Plan with units or with epochs, not both.",
            )
        self.amount(1.0)

    def check_gain(self, mean: float, reward_range: tuple[float, float]) -> None:
        """Refuse a gain that no policy can have: rewards end where their range does."""
        (low, high), stated = reward_range, self.amount(mean)
        if stated is not None and stated > high - mean:
            raise UsageError(
                f"A gain of {stated:g} an event is impossible: rewards lie in [{low:g}, {high:g}], and their mean is "
                f"{mean:.4g}.",
                f"gain (--gain) is at most {high - mean:.4g}: 0.002 is 2 per 1,000 events, and 5% is relative to the "
                "mean reward.",
            )

    def amount(self, mean: float) -> float | None:
        """Return the stated gain per event, if one was stated."""
        if self.gain is None:
            return None
        text = str(self.gain).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise UsageError(
                f"gain (--gain) must be a number above 0 or a percentage, and is {quoted(self.gain)}.",
                "0.002 is 2 per 1,000 events; 5% is relative to the mean reward.",
            )
        return number / 100 * abs(mean) if text.endswith("%") else number


@dataclass(frozen=True, eq=False)
class _Planning:
    """A log and a policy, with what is asked about them."""

    asked: _Asked
    evaluation: Evaluation
    rows: PlannedRows
    weighted: WeightedRows
    on_progress: Progress

    @property
    def estimate(self) -> ValueEstimate:
        """Return what the log says of the policy so far."""
        return self.evaluation.first

    @property
    def gain(self) -> float | None:
        """Return the gain to plan for, per event."""
        stated, estimated = self.asked.amount(self.evaluation.log.mean_reward), self.estimate.gain.estimated
        return stated if stated is not None else None if estimated is None else estimated.difference

    @property
    def known(self) -> bool:
        """Tell whether the log will be the training window: it has times, and no units that come back."""
        log = self.rows.cells.evaluated
        return log.columns.time is not None and not log.columns.unit

    @property
    def days(self) -> float | None:
        """Return how long the log is."""
        window = self.rows.cells.evaluated.window
        if window.first is None or window.last is None or window.last <= window.first:
            return None
        return (window.last - window.first) / MICROSECONDS_PER_DAY

    def plan(self, policy: Any) -> Plan:
        """Compare the options, and choose one."""
        gain, estimated, certified = self.gain, self.estimate.gain.estimated, self.estimate.gain.certified
        evaluation, log = self.evaluation, self.rows.cells.evaluated
        supported = self.rows.supported(min(self._possible_taus))
        options = tuple(self._options(supported, gain)) if gain is not None and gain > 0 else ()
        best = self._best(options)
        share = None if best is None else best.share
        to_explore = self.rows.where(share or 0.0, self.asked.coverage)
        columns = (*log.columns.context, log.columns.action, "events", "traffic")
        return Plan(
            policy=self.estimate.policy,
            reward=log.columns.reward,
            reward_range=evaluation.reward_range,
            mean_reward=evaluation.log.mean_reward,
            events=round(self.rows.events),
            days=self.days,
            until=log.window.last,
            gain=gain,
            gain_from="estimated" if self.asked.gain is None else "stated",
            gain_lower=None if estimated is None else estimated.lower,
            gain_upper=None if estimated is None else estimated.upper,
            certified_lower=None if certified is None else certified.lower,
            learned_here=bool(evaluation.learned_here),
            power=self.asked.power,
            delta=self.asked.delta,
            coverage=self.asked.coverage,
            supported=supported,
            unit=log.columns.unit,
            epoch=None if log.log.epochs is None else log.log.epochs.words,
            trained=self.known,
            share=share,
            options=options,
            columns=columns,
            rows=self.rows.busiest(policy, to_explore, most=NAMED, name_texts=self.asked.name_texts),
            source=evaluation.log.source,
            version=__version__,
            table=self.rows.mixture(policy, to_explore, share or 0.0),
        )

    def _best(self, options: tuple[PlanOption, ...]) -> PlanOption | None:
        """Return the smallest share that decides within the length of the log, else the one that takes fewest events.

        Without exploration, if the log supports the policy.
        """
        possible = [option for option in options if option.events is not None]
        soon = [option for option in possible if option.share == 0 or (option.events or 0) <= self.rows.events]
        if soon or not possible:
            return soon[0] if soon else None
        return min(possible, key=lambda option: option.events or 0)

    def _options(self, supported: float, gain: float) -> Iterator[PlanOption]:
        asked, rows = self.asked, self.rows
        shares = [0.0, *SHARES] if supported >= asked.coverage else list(SHARES)
        visits = self._visits()
        low, high = self.evaluation.reward_range
        for tried in shares if asked.share is None else [asked.share]:
            self.on_progress(f"planning with a share of {tried:g}")
            where = rows.where(tried, asked.coverage)
            contexts, traffic, rewards = rows.facts(where) if tried else (0, 0.0, 0.0)
            chosen = rows.chosen_cells(where)
            if chosen.change <= 0 or (tried and not contexts and asked.share is None):
                continue
            # A share that all choices have already asks for no exploration.
            share = tried if contexts else 0.0
            lift = gain / (high - low) * rows.events / chosen.change
            together = visits if visits is None or not share else visits.spread_over(1 - traffic)
            logs = [
                Continuation(chosen, share, tau, lift, self.known, rows.epochs, together) for tau in self._taus(share)
            ]
            lengths = [log.times(asked.power, asked.delta) for log in logs]
            times, log = min(zip(lengths, logs, strict=True), key=lambda pair: pair[0] or math.inf)
            yield PlanOption(
                share=share,
                tau=log.tau,
                contexts=contexts,
                traffic=traffic,
                events=None if times is None else round(times * rows.events),
                days=None if times is None or self.days is None else times * self.days,
                supported=None if times is None else log.supported(times),
                change=share * lift * (high - low) * chosen.change_where_explored / rows.events,
                worst=share * (high - low) * rewards,
            )

    def _taus(self, share: float) -> list[float]:
        """Return the floors of the propensity to choose among: all that leave the policy its support."""
        if share and self.asked.tau is None:
            return [0.5 * share * self.rows.rare]
        possible = self._possible_taus
        return [tau for tau in possible if self.rows.supported(tau) >= self.asked.coverage] or [min(possible)]

    @property
    def _possible_taus(self) -> list[float]:
        """Return the floors that are considered where nothing is explored: the one that was asked for, or several."""
        return [self.asked.tau] if self.asked.tau is not None else sorted({self.estimate.tau, *TAUS})

    def _visits(self) -> UnitVisits | None:
        """Return how units come, if the log names them, and how far actions stick to them under this policy."""
        visits, log = self.weighted.visits, self.rows.cells.evaluated
        if visits is None:
            return None
        tau = self.estimate.tau
        with open_unit_sums(self.weighted, [tau], (), [{}], Levels(self.asked.delta)) as [units]:
            gains = None if units is None else units.gains()
        together = 1.0 if gains is None or gains.independent <= 0 else gains.dependent / gains.independent
        return unit_counts(self.rows.cells, visits, known_icc(log, log) or 0.0, max(together, 1.0))
