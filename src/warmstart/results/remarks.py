"""Remarks: what a reader must know beside the numbers, each with a code that programs can look for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from warmstart.core import Outcome, percent, quoted, shortened
from warmstart.results.propensities import WORDS, Alarms, SourceName

if TYPE_CHECKING:
    from warmstart.results.audit_units import PossibleUnit

# Near the borders of a fixed rule a model is not sure either. On fixed linear rules of 4 to 20 actions, 1,000 to 20,000
# events of 2 to 10 columns, choice came to .02 to .24, effective actions to 1.01 to 1.14: less than this is no overlap.
LEAST_CHOICE, LEAST_ACTIONS = 0.1, 1.15

# Words of what people want less of; a name has one as a whole word, or its plural.
COSTLY = (
    *("bounce", "cancellation", "churn", "complaint", "cost", "crash", "defect", "delay", "downtime", "duration"),
    *("error", "expense", "failure", "fault", "fee", "fraud", "incident", "latency", "loss", "penalty", "price"),
    *("refund", "regret", "risk", "spam", "spend", "timeout", "unsubscribe", "waste"),
)


@dataclass(frozen=True)
class Remark:
    """A sentence with its code: WS1xx about assumptions, WS2xx about data."""

    code: str
    level: Literal["note", "warning"]
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.code})"


@dataclass(frozen=True)
class Overlap:
    """What propensities that are no counts say of the choice in a log (overlap, positivity).

    ``choice``: the share of traffic on which no action has a propensity above 1 - tau, so that the other actions
    together have tau or more. ``effective_actions``: exp of the entropy of the action given the context, the mean of
    -log(propensity) of what was shown. ``source``: where the propensities come from.
    """

    tau: float
    choice: float
    effective_actions: float
    source: SourceName

    @property
    def is_none(self) -> bool:
        """Tell whether one action is all but certain nearly everywhere, as under a fixed rule."""
        return self.choice < LEAST_CHOICE or self.effective_actions < LEAST_ACTIONS

    @property
    def remark(self) -> Remark:
        """Say whether other policies can be estimated at all."""
        by = f"by propensities {WORDS[self.source]}"
        effective = f"as much choice as {self.effective_actions:.2f} equally frequent actions"
        if self.is_none:
            sure = f"one action was all but certain (above {percent(1 - self.tau)}) on {percent(1 - self.choice)}"
            rest = "what other actions would earn there, no estimate from this log can tell"
            return Remark("WS104", "warning", f"No overlap: {by}, {sure} of the traffic ({effective}); {rest}.")
        share = f"actions other than the likeliest had {percent(self.tau)} or more on {percent(self.choice)}"
        doubt = "" if self.source == "logged" else ": a fixed rule that a model cannot express looks like choice to it"
        text = f"Overlap: {by}, {share} of the traffic ({effective}). Nothing is certified{doubt}."
        return Remark("WS104", "note", text)


def unsaid_training(policies: Sequence[str]) -> Remark:
    """Say what the numbers of decisions rest on if nobody said when they were fitted."""
    names = ", ".join(map(quoted, policies))
    fixed = "hold only if the decisions were fixed before the evaluated window's rewards were seen"
    ask = "Say until when they were fitted: trained_until=... (--trained-until [NAME=]TIME, or never)"
    return Remark("WS103", "note", f"The numbers of {names} {fixed}. {ask}.")


def numbered_times(column: str, what: Literal["day", "step"]) -> Remark:
    """Say what whole numbers in the place of times are taken for."""
    of_days = "days, shown as dates of which number 0 is 1970-01-01"
    of_steps = "steps that say what came first, and no more: all events count as of one day"
    return Remark("WS220", "note", f"The times in {quoted(column)} number {of_days if what == 'day' else of_steps}.")


def returning_units(share: float, policies: Sequence[str]) -> Remark:
    """Say that units of the window were there before, so that what was learned from them is not independent of it."""
    came = f"{percent(share)} of the window's units also have events outside of it, and rewards of a unit go together"
    certain = f"so nothing is certified of {', '.join(map(quoted, policies))}, fitted before" if policies else ""
    others = "Decisions hold only if they were fixed without rewards of these units"
    cure = "Split by unit, events.split(folds=...), or evaluate on units that are new."
    middle = f", {certain}. {others}" if certain else f". {others}"
    return Remark("WS108", "warning", f"{came}{middle}. {cure}")


def units_over_epochs() -> Remark:
    """Say that units come back in later epochs, so that no bound over epochs holds, and what to do."""
    text = (
        "Some units are in several epochs, or were there before the window. Rewards of a unit go together, so later "
        "epochs are not independent of earlier ones: intervals are those of whole units, approximate, and nothing is "
        "certified. Evaluate each unit's first epoch alone: events.first_epochs() (--first-epochs)."
    )
    return Remark("WS109", "warning", text)


def overlapping_epochs() -> Remark:
    """Say that epochs of a column overlap in time, so that no bound over epochs holds, and what to do."""
    text = (
        "Some epochs overlap in time: the later events of one may react to rewards of another that began after it, so "
        "nothing is certified. Divide the log by hour, day or week, or leave out the time of the changeover."
    )
    return Remark("WS110", "warning", text)


def alarm(policy: str, alarms: Alarms) -> Remark:
    """Say why there is no plain value of a policy, and what to do."""
    return Remark(
        alarms.code or "WS105", "warning", f"The clipped value of {quoted(policy)} is withheld. {alarms.text}"
    )


def deferred(policy: str, share: float) -> Remark:
    """Say on how much of the traffic a policy leaves the choice to logging, and how that is counted."""
    how = "there it earns what logging earned, and its gain is zero for certain"
    return Remark("WS114", "note", f"{quoted(policy)} defers to logging on {percent(share)} of the traffic: {how}.")


def unknown_actions(policy: str, share: float) -> Remark:
    """Say how much of a policy's traffic is on actions that the log never shows."""
    unknown = "is on actions that the log never shows; it counts as unsupported"
    return Remark("WS202", "warning", f"{percent(share)} of the traffic of {quoted(policy)} {unknown}.")


def unseen_contexts(policy: str, share: float) -> Remark:
    """Say on how much traffic a learned policy chooses nothing, why, and what to do."""
    where = "in contexts that its training never saw, or where no action that it knows is live"
    counts = "Values count nothing there, gains count logging"
    cure = "With a table of contexts, contexts=... (--contexts FILE), it chooses in new ones by their features"
    text = f"{quoted(policy)} chooses nothing on {percent(share)} of the traffic: {where}. {counts}. {cure}"
    return Remark("WS216", "warning", f"{text}; a model of your own is not kept, and cannot.")


def unique_columns(columns: Sequence[str]) -> Remark | None:
    """Point out context columns that differ in nearly every event; None if there are none."""
    if not columns:
        return None
    names = " and ".join(map(quoted, columns))
    one = len(columns) == 1
    text = (
        f"The context {'column' if one else 'columns'} {names} {'differs' if one else 'differ'} in nearly every event: "
        f"with {'it' if one else 'them'} in the context nothing repeats, and nothing can be counted. Leave out what "
        "only tells events apart, or name it as event_id (--event-id)."
    )
    return Remark("WS201", "warning", text)


def joined_context(columns: Sequence[str]) -> Remark:
    """Say that columns of segments joined the context, for the whole evaluation."""
    names, many = " and ".join(map(quoted, columns)), len(columns) > 1
    text = (
        f"{names} {'are' if many else 'is'} no part of the context, and joined it for this evaluation: propensities "
        "are counted within it, so that support may be smaller. Keywords choose in the joined contexts; decisions, "
        "functions and learned policies as before."
    )
    return Remark("WS206", "note", text)


def possible_units(columns: Sequence[PossibleUnit]) -> Remark | None:
    """Point out columns that look like a unit, in a log that names none; None if there are none."""
    if not columns:
        return None
    first = columns[0].column
    seen = "; ".join(
        f"{quoted(one.column)} has {one.values:,} values and {one.events_per_value:,.1f} events for each of them"
        for one in columns
    )
    text = (
        f"The log names no unit, but {'one column looks' if len(columns) == 1 else 'some columns look'} like one: "
        f"{seen}. Events are taken as independent: if rewards of one user depend on each other, bounds and intervals "
        f"are too narrow. Name whoever comes back: unit={quoted(first)} (--unit {shortened(first)})."
    )
    return Remark("WS107", "warning", text)


def wide_range(outcome: Outcome) -> Remark:
    """Say that an outcome's range is far wider than its values, what that costs, and what to pass."""
    low, high = outcome.seen or outcome.range
    ends = rounded_out(low, high, outcome)
    seen = f"the log's values lie in {low:.4g} to {high:.4g}"
    costs = "bounds pay for the whole range, estimates do not"
    pair, text = f"({ends[0]:g}, {ends[1]:g})", f"{ends[0]:g}:{ends[1]:g}"
    name = shortened(outcome.name)
    ask = f"ranges={{'{name}': {pair}}} (--range {name}={text})"
    rule = "fix it by what is possible, not by what was seen"
    start = f"The range of {quoted(outcome.name)} is {outcome.low:g} to {outcome.high:g}, and {seen}"
    return Remark("WS203", "note", f"{start}: {costs}. Give a narrower one, such as {ask}, but {rule}.")


def rounded_out(low: float, high: float, outcome: Outcome) -> tuple[float, float]:
    """Return round ends, inside the outcome's range, around what was seen of it; zero where that is near."""
    step = 10 ** math.floor(math.log10(high - low))
    start = 0.0 if 0 <= low <= high - low else step * math.floor(round(low / step, 9))
    return max(float(f"{start:.10g}"), outcome.low), min(
        float(f"{step * math.ceil(round(high / step, 9)):.10g}"), outcome.high
    )


def unknown_outcome(outcome: Outcome) -> Remark:
    """Say how much of an outcome is known, and what estimates and bounds are of."""
    share = f"{quoted(outcome.name)} is known in {percent(outcome.known)} of the log's events"
    share = f"{share} (null, NaN and infinity are unknown)"
    estimates = "estimates are of these, as if the others were like them"
    bounds = "bounds are of all events, with the worst possible value for what is unknown"
    return Remark("WS204", "note", f"{share}: {estimates}; {bounds}.")


def may_be_a_cost(outcome: Outcome) -> Remark | None:
    """Point out an outcome that counts as better the more of it there is, though its name says otherwise."""
    parts = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", outcome.name).lower())
    words = {form for part in parts for form in (part, part.removesuffix("s"), part.removesuffix("es"))}
    # What is never positive is less of it the higher it is.
    if words.isdisjoint(COSTLY) or outcome.minimize or outcome.high <= 0:
        return None
    name = shortened(outcome.name)
    ask = f"minimize='{name}' (--minimize {name})"
    return Remark("WS205", "note", f"More of {quoted(outcome.name)} counts as better. If less of it is, pass {ask}.")
