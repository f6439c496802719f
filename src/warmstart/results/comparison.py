"""Two evaluations beside each other: what changed, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from warmstart.core import Outcome, UsageError, Window, percent, quoted, shortened
from warmstart.results.display import Result, TextTable, fields_of

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

Logs = Literal["same", "apart", "overlapping", "unknown"]
What = Literal["certified gain", "estimated gain", "support"]
Ends = tuple[float | None, float | None]
Chance = Literal["proven", "likely", "may be chance", "settings", "unknown"]
ASSUMED: dict[Logs, str] = {
    "same": "Both evaluations are of the same events, as far as they tell (window, counts and mean reward agree). So "
    "no difference is chance: it comes from settings, from policies or from the version. Which of two policies is "
    "better is no question for a comparison: evaluate both in one run.",
    "apart": "The windows do not overlap in time. 'Proven' takes certified joint ends of both evaluations and nothing "
    "else. 'Likely' is approximate, and takes the events of the two windows to be independent: that fails where users "
    "are in both.",
    "overlapping": "The windows overlap in time, so that the estimates depend on each other: the error of a difference "
    "is taken to be the sum of both, which is the most it can be however they depend.",
    "unknown": "Without times nobody can tell whether the evaluations share events: the error of a difference is taken "
    "to be the sum of both, which is the most it can be however they depend.",
}


@dataclass(frozen=True)
class Change:
    """How a number of one policy changed from the old evaluation to the new one.

    ``what``: the certified gain, the estimated gain or the share of traffic that is supported. ``lower`` and ``upper``:
    the ends of the change, for all policies at once. ``chance``: "proven" (certified ends, with the confidence that the
    comparison has), "likely" (approximate), "may be chance", "settings" (of the same events: chance has no part in it)
    or "unknown" (there are no ends).
    """

    policy: str
    what: What
    old: float | None
    new: float | None
    change: float | None
    lower: float | None
    upper: float | None
    chance: Chance


@dataclass(frozen=True)
class SettingChange:
    """A setting that the evaluations do not share."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What changed from one evaluation to another.

    ``logs``: whether both are of the same events, of windows that lie apart or overlap, or nobody knows.
    ``confidence``: of all that is called proven, together. ``verdicts``: of the policies in both, old and new.
    ``only_old`` and ``only_new``: policies that are in one only. ``events`` and ``mean_reward``: of the evaluated
    windows.
    """

    logs: Logs
    reward: str
    confidence: float
    changes: tuple[Change, ...]
    settings: tuple[SettingChange, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    events: tuple[int, int]
    mean_reward: tuple[float, float]
    windows: tuple[str, str]

    @property
    def headline(self) -> list[str]:
        """Say what changed by more than chance, if anything did."""
        gains = [one for one in self.changes if one.what != "support"]
        sure = [one for one in gains if one.chance in ("proven", "likely")]
        named = [f"{quoted(one.policy)} ({one.what} {one.change:+.4g}, {one.chance})" for one in sure]
        if self.logs == "same":
            moved = any(one.change for one in self.changes) or bool(self.settings)
            first = "Of the same events: what differs is due to settings." if moved else "Nothing differs."
        else:
            first = f"Changed by more than chance: {', '.join(named)}." if named else (
                "No gain changed by more than chance may explain." if gains else "The evaluations share no policy."
            )  # fmt: skip
        turned = [f"{quoted(name)} from {old} to {new}" for name, old, new in self.verdicts if old != new]
        return [first, *([f"Verdicts changed: {'; '.join(turned)}."] if turned else [])]

    @property
    def tables(self) -> list[TextTable]:
        """Return what changed."""
        rows = []
        for one in self.changes:
            levels = (_number(number, one) for number in (one.old, one.new))
            moves = (_number(number, one, "+") for number in (one.change, one.lower, one.upper))
            rows.append((shortened(one.policy, 30), one.what, *levels, *moves, one.chance))
        header = ("policy", "what", "old", "new", "change", "from", "to", "chance")
        tables = [TextTable(f"Changes per event of all traffic, {quoted(self.reward)}", header, rows, left=2)]
        log = [("window", *self.windows), ("events", *(f"{n:,}" for n in self.events))]
        log.append(("mean reward of logging", *(f"{mean:.6g}" for mean in self.mean_reward)))
        log += [(one.name, shortened(one.old), shortened(one.new)) for one in self.settings]
        log += [(f"verdict on {quoted(name)}", old, new) for name, old, new in self.verdicts]
        tables.append(TextTable("Logs, settings that differ, and verdicts", ("", "old", "new"), log, left=3))
        return tables

    @property
    def notes(self) -> list[str]:
        """Say what the comparison takes for granted."""
        notes = [ASSUMED[self.logs]]
        if self.logs != "same":
            notes.append(
                f"All that is called proven holds together with confidence {100 * self.confidence:.6g} %: that of both "
                "evaluations. A gain is that on the traffic of its own window, so that other traffic changes it too."
            )
            notes.append("The mean reward has no interval here: 'logging' as a policy of both evaluations has one.")
        if self.settings and self.logs != "same":
            notes.append("Settings differ too: a change may be due to them.")
        for names, where in ((self.only_old, "old"), (self.only_new, "new")):
            if names:
                notes.append(f"Only in the {where} evaluation: {', '.join(map(quoted, names))}.")
        return [*notes, "Policies of the same name are taken to be the same."]

    def _rows(self) -> list[dict[str, Any]]:
        return [fields_of(one) for one in self.changes]


def compare(old: Evaluation, new: Evaluation) -> Comparison:
    """Compare two evaluations: what changed, and whether that is more than chance.

    Certified gains differ where their joint ends do not meet: that holds for all policies together, however the logs
    depend on each other. Estimated gains are compared by their standard errors, with Bonferroni's allowance for the
    number of policies: as independent where the windows lie apart in time, else by the sum of both errors, which is the
    most that the difference can have. Of the same events all differences are due to settings.

    Args:
        old: The evaluation before.
        new: The evaluation after, of the same reward in the same range.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> compare(ws.evaluate("uniform", events, tau=0.05), ws.evaluate("uniform", events, tau=0.1)).logs
    'same'
    """
    from warmstart.results.evaluation import Evaluation

    for one in (old, new):
        if not isinstance(one, Evaluation):
            raise UsageError(f"A {type(one).__name__} cannot be compared.", "Pass two results of evaluate.")
    ours, theirs = _of_range(old.reward), _of_range(new.reward)
    if ours != theirs:
        raise UsageError(
            f"The evaluations are of {ours} and of {theirs}.",
            "Compare evaluations of one reward (or utility), in one range.",
        )
    if old.per != new.per:
        raise UsageError(
            f"One evaluation is per {old.per}, the other per {new.per}.", "Compare evaluations of one mean."
        )
    logs = _logs(old, new)
    before, after = _firsts(old), _firsts(new)
    names = [name for name in before if name in after]
    changes = [change for name in names for change in _changes(before[name], after[name], logs, len(names))]
    words = [(name, old.verdict_on(before[name]).words, new.verdict_on(after[name]).words) for name in names]
    return Comparison(
        logs=logs,
        reward=old.reward.name,
        confidence=max(round(1 - old.policies[0].delta - new.policies[0].delta, 12), 0.0),
        changes=tuple(changes),
        settings=tuple(_settings(old, new, names)),
        verdicts=tuple(words),
        only_old=tuple(name for name in before if name not in after),
        only_new=tuple(name for name in after if name not in before),
        events=(old.windows.evaluated.events, new.windows.evaluated.events),
        mean_reward=(old.log.mean_reward, new.log.mean_reward),
        windows=(str(old.windows.evaluated), str(new.windows.evaluated)),
    )


def _firsts(evaluation: Evaluation) -> dict[str, ValueEstimate]:
    """Return policies other than logging, at the first tau that was asked for."""
    names = dict.fromkeys(one.policy for one in evaluation if not one.is_logging)
    return {name: evaluation[name] for name in names}


def _logs(old: Evaluation, new: Evaluation) -> Logs:
    """Tell how the events of two evaluations relate, as far as these say."""
    mine, other = old.windows.evaluated, new.windows.evaluated
    # With times the counts of contexts may differ: they are settings. Without, they are all that tells logs apart.
    witnesses = ("mean_reward",) if mine.first is not None else ("mean_reward", "contexts", "actions", "cells")
    alike = all(getattr(old.log, name) == getattr(new.log, name) for name in witnesses)
    if alike and (mine.events, mine.first, mine.last) == (other.events, other.first, other.last):
        return "same"
    spans = [(window.first, window.last) for window in (mine, other)]
    if any(end is None for span in spans for end in span):
        return "unknown"
    return "apart" if _apart(mine, other) else "overlapping"


def _apart(mine: Window, other: Window) -> bool:
    ends = (mine.first, mine.last, other.first, other.last)
    first, last, from_, to = (end or 0 for end in ends)
    return last < from_ or to < first


def _changes(old: ValueEstimate, new: ValueEstimate, logs: Logs, policies: int) -> Iterator[Change]:
    """Yield how the certified gain, the estimated one and the support of a policy changed."""
    mine, other = old.gain.certified, new.gain.certified
    if mine is not None and other is not None:
        proven = mine.guarantee == other.guarantee == "finite-sample"
        joint = (mine.joint_lower, mine.joint_upper), (other.joint_lower, other.joint_upper)
        differences = mine.difference, other.difference
        yield _change("certified gain", old.policy, differences, _outer(*joint) if proven else None, logs)
    ours, theirs = old.gain.estimated, new.gain.estimated
    if ours is not None and theirs is not None:
        pair, delta = (ours.difference, theirs.difference), min(old.delta, new.delta) / policies
        error = standard_error(ours.lower, ours.upper, old.delta)
        errors = error, standard_error(theirs.lower, theirs.upper, new.delta)
        ends = difference_ends(pair[1] - pair[0], errors, delta, independent=logs == "apart")
        yield _change("estimated gain", old.policy, pair, ends, logs)
    shares = old.support.supported, new.support.supported
    yield _change("support", old.policy, shares, None, logs)


def _change(what: What, policy: str, pair: Ends, ends: tuple[float, float] | None, logs: Logs) -> Change:
    """Return a change with its ends, if chance has a part in it, and whether it is more than chance."""
    old, new = pair
    lower, upper = (None, None) if logs == "same" or ends is None else ends
    chance: Chance = "settings" if logs == "same" else "unknown" if ends is None else "may be chance"
    if lower is not None and upper is not None and (lower > 0 or upper < 0):
        chance = "proven" if what == "certified gain" else "likely"
    return Change(policy, what, old, new, None if old is None or new is None else new - old, lower, upper, chance)


def _outer(old: Ends, new: Ends) -> tuple[float, float] | None:
    """Return the ends of a difference from intervals that hold together, however they depend."""
    (low, high), (least, most) = old, new
    if low is None or high is None or least is None or most is None:
        return None
    return least - high, most - low


def standard_error(lower: float | None, upper: float | None, delta: float) -> float | None:
    """Return the standard error that an approximate interval stands for."""
    if lower is None or upper is None:
        return None
    return (upper - lower) / (2 * NormalDist().inv_cdf(1 - delta / 2))


def difference_ends(
    change: float, errors: tuple[float | None, float | None], delta: float, *, independent: bool
) -> tuple[float, float] | None:
    """Return approximate ends of a difference of two estimates, which miss it with probability delta at most.

    Args:
        change: The difference.
        errors: The standard errors of both; there are no ends if one is unknown.
        delta: How often they may miss.
        independent: Whether the estimates are; else the error is the sum of both, the most that it can be.

    >>> difference_ends(0.0, (3.0, 4.0), 0.3173105, independent=True)[1] > 4.999
    True
    """
    first, second = errors
    if first is None or second is None:
        return None
    error = hypot(first, second) if independent else first + second
    reach = NormalDist().inv_cdf(1 - delta / 2) * error
    return change - reach, change + reach


def _settings(old: Evaluation, new: Evaluation, names: list[str]) -> Iterator[SettingChange]:
    """Yield the settings that differ."""
    before, after = _said(old, names), _said(new, names)
    if not (old.log.context and new.log.context):
        # A file of an earlier version does not name them.
        before["context"] = after["context"] = ""
    yield from (SettingChange(name, before[name], after[name]) for name in before if before[name] != after[name])


def _said(evaluation: Evaluation, names: list[str]) -> dict[str, str]:
    """Return all that an evaluation tells of how it was made, beside the events, as text by name."""
    first, source, log, windows = evaluation.first, evaluation.propensities, evaluation.log, evaluation.windows
    named: dict[str, Sequence[str]] = {"context": log.context, "unit": log.unit, "segments by": evaluation.by}
    named |= {"estimators": [one.estimator for one in first.estimates], "guards": [one.guard for one in first.guards]}
    named |= {"learned here": evaluation.learned_here, "outcomes": [_of_range(one) for one in evaluation.outcomes]}
    own = {name: ", ".join(map(str, values)) or "none" for name, values in named.items()}
    own |= {"propensities": source.name, "epoch": str(source.epoch), "interval": first.interval}
    own |= {"delta": f"{first.delta:g}", "live": str(windows.live), "feasible from": windows.feasible_from}
    own |= {"training window": "no" if windows.train is None else "yes", "doubt": str(evaluation.doubt)}
    own |= {"rows left out": "some" if log.dropped else "none", "margin": str(evaluation.margin)}
    own |= {"version": evaluation.version, "source": log.source}
    return own | {f"tau of {quoted(name)}": f"{evaluation[name].tau:g}" for name in names}


def _of_range(outcome: Outcome) -> str:
    less = ", less of it is better" if outcome.minimize else ""
    return f"{quoted(outcome.name)} ({outcome.low:g} to {outcome.high:g}{less})"


def _number(value: float | None, change: Change, sign: str = "") -> str:
    if value is None:
        return "-"
    return percent(value) if change.what == "support" else f"{value:{sign}.4g}"
