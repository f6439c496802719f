"""What a safe fit proved: where its policy departs from logging, how much that gains at least, and what was left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warmstart.core import percent, quoted
from warmstart.results.display import Fact, TextTable

SETTING_WORDS = {
    "argmax": "argmax: the best by the shrunk mean reward, everywhere",
    "cautious": "cautious: only where the training gain is above half a standard error",
    "safe": "safe: only where proven",
}


@dataclass(frozen=True)
class TestedSet:
    """A set of deviations: contexts, their share of the proving traffic, the estimated gain per event of all of it.

    ``lower``: the one-sided end that decided; None if nothing is certified. ``guards``: whether all of them hold.
    """

    contexts: int
    share: float
    gain: float | None
    lower: float | None
    guards: bool
    proven: bool


@dataclass(frozen=True)
class SettingCompared:
    """A way to learn in simulated logs like this one: how often it is worse than logging, and its mean gain per event.

    ``departs``: the share of traffic on which it does not do what logging does.
    """

    setting: Literal["argmax", "cautious", "safe"]
    worse: float
    gain: float
    departs: float


@dataclass(frozen=True)
class MoreProof:
    """A context with an expected gain that was not proven, the share of its traffic that the action had, and the gain.

    ``gain`` is expected, per event of all traffic.
    """

    context: str
    action: str
    share: float
    gain: float


@dataclass(frozen=True)
class SafeImprovement:
    """What was proposed on some events and proven on others.

    ``split``: how the events were divided. ``delta``: worse than logging with at most this probability; ``at_least``:
    the gain per event of all of the proving traffic is at least this, but with probability delta. ``events``: of the
    parts that proposed and proved; ``tested``: the sets, in order. ``departs``, ``contexts``: of what is proven.
    ``unproven``: the expected gain per event that was left for want of proof. ``log_needed``: how many times this log
    would probably (80 %) prove the first set that was not; None if all were or nobody knows. ``settings``: compared by
    ``simulated`` logs.
    """

    split: Literal["time", "epoch", "unit", "event"]
    delta: float
    tau: float
    events: tuple[int, int]
    contexts: int
    departs: float
    gain: float | None
    at_least: float | None
    unproven: float
    log_needed: float | None
    tested: tuple[TestedSet, ...]
    settings: tuple[SettingCompared, ...]
    simulated: int
    more: tuple[MoreProof, ...] = ()
    guards: tuple[str, ...] = ()
    doubt: float | None = None


def safe_tables(safe: SafeImprovement) -> list[TextTable]:
    """Return the sets that were tested, the settings compared, and where more would be proven."""
    rows = [
        (
            str(i),
            f"{one.contexts:,}",
            percent(one.share),
            "-" if one.gain is None else f"{one.gain:+.5f}",
            "-" if one.lower is None else f"{one.lower:+.5f}",
            "proven" if one.proven else "guards fail" if not one.guards else "not proven",
        )
        for i, one in enumerate(safe.tested, start=1)
    ]
    header = ("set", "contexts", "traffic", "gain per event", "lower end", "")
    tables = [TextTable("Sets of deviations tested, in this order", header, rows)] if rows else []
    if safe.settings:
        compared = [
            (one.setting, percent(one.departs), f"{one.gain:+.5f}", percent(one.worse)) for one in safe.settings
        ]
        columns = ("setting", "departs on", "mean gain per event", "worse than logging")
        tables.append(
            TextTable(f"Settings on {safe.simulated} simulated logs like this one; no bounds", columns, compared, 1)
        )
    if safe.more:
        left = [(one.context, one.action, percent(one.share), f"{one.gain:+.5f}") for one in safe.more]
        names = ("context", "action", "its share there", "expected gain")
        tables.append(TextTable("Left for want of proof, the largest first", names, left, 2))
    return tables


def about_safety(safe: SafeImprovement) -> list[str]:
    """Say where the policy departs, what that gains at least, what was left, and what more log would prove."""
    chance, how = percent(safe.delta), _HOW[safe.split]
    proposed, proved = safe.events
    lines = []
    if safe.contexts:
        least = "" if not safe.at_least or safe.at_least <= 0 else f" It gains at least {safe.at_least:.3g} an event."
        lines.append(
            f"Safe: it departs from logging on {percent(safe.departs)} of the traffic ({safe.contexts:,} contexts) and "
            f"defers to logging everywhere else. With probability {percent(1 - safe.delta)} it is not worse than "
            f"logging on the traffic that proved it.{least}"
        )
    else:
        lines.append("Safe: nothing is proven to gain, so that it defers to logging everywhere.")
    lines.append(f"Proposed on {proposed:,} events and proven on {proved:,} others ({how}); tau {safe.tau:g}.")
    if safe.guards:
        lines.append(f"Every set also had to keep the guards {', '.join(map(quoted, safe.guards))}.")
    if safe.doubt is not None:
        lines.append(f"Proven under a doubt of {safe.doubt:g}.")
    if safe.unproven > 0:
        lines.append(
            f"An expected gain of {safe.unproven:.3g} an event was left for want of proof. {_what_would_prove(safe)}"
        )
    if safe.more:
        lines.append(
            "More exploration where the action is rare proves more than more log: audit says where "
            "(warmstart audit --explore-out)."
        )
    lines.append(
        f"The {chance} are about that window's traffic: later, traffic, rewards and the logging policy must stay what "
        "they were, and the context columns must hold what it chose by."
    )
    if safe.settings:
        words = "; ".join(SETTING_WORDS[one.setting] for one in safe.settings)
        lines.append(
            f"The simulated logs have this log's contexts and choices, and mean rewards that it leaves plausible "
            f"({words}). Their chances are no bounds: where logging is already good, argmax is worse more often than "
            f"they say.{_not_simulated(safe)}"
        )
    return lines


def _not_simulated(safe: SafeImprovement) -> str:
    """Say what the simulated logs leave out of this one."""
    asked = ["guards"] * bool(safe.guards) + ["doubt"] * (safe.doubt is not None)
    left = [*asked, *({"unit": ["units"], "epoch": ["epochs"]}.get(safe.split, []))]
    if not left:
        return ""
    smaller = " Without units chances are said too small." if safe.split == "unit" else ""
    return f" They have no {' or '.join(left)}, so that safe is not among them.{smaller}"


def _what_would_prove(safe: SafeImprovement) -> str:
    """Say what would prove the gain that was left, as far as that is known."""
    if safe.log_needed is not None:
        return f"A log {safe.log_needed:.1f} times as long would probably prove it."
    if not safe.tested:
        return (
            "Nothing could be tested: no action with an expected gain is shown often enough; a longer log, or "
            "exploration, shows more of them."
        )
    if safe.tested[-1].proven:
        return (
            "All sets that were tested are proven: what is left are choices that were in none of them, which a longer "
            "log would test."
        )
    return (
        "This log would probably have proven it, had its gain been what was expected: it may be less, and only further "
        "events can tell."
    )


_HOW = {
    "time": "split in time",
    "epoch": "split in time, between epochs",
    "unit": "split by unit",
    "event": "split at random",
}


def safe_facts(safe: SafeImprovement) -> list[Fact]:
    """Say where a safe policy departs from logging, what is proven of that, and what was left."""
    least = f" It gains at least {safe.at_least:.3g} an event." if safe.at_least else ""
    where = (
        f"On {percent(safe.departs)} of the traffic, in {safe.contexts:,} contexts. Elsewhere logging's choice stands."
    )
    proven = f"Worse than logging with a probability of at most {percent(safe.delta)} on the traffic that proved it."
    facts = [Fact("Departs from logging", where + least if safe.contexts else "Nowhere: nothing is proven to gain.")]
    facts += [Fact("Proven", proven)] if safe.contexts else []
    if safe.unproven > 0:
        needed = "" if safe.log_needed is None else f" {safe.log_needed:.1f} times this log would probably prove it."
        facts.append(Fact("Left for want of proof", f"An expected gain of {safe.unproven:.3g} an event.{needed}"))
    return facts
