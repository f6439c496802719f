"""Parts of an evaluation's page: further outcomes, guards, trade-offs, segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import percent, shortened
from warmstart.report import charts
from warmstart.report.page import Section
from warmstart.results import Amounts, CertifiedGain, SegmentGain, segment_gains
from warmstart.results import outcome_tables as tables
from warmstart.results import tradeoffs as prices

if TYPE_CHECKING:
    from warmstart.core import Outcome
    from warmstart.results import Evaluation, ValueEstimate

ABOUT_GUARDS = (
    "About all traffic: the policy where the log supports it, logging elsewhere, against logging. A guard holds if the "
    "whole interval of the change keeps its limit, and fails if none of it does; else the log cannot tell."
)
ABOUT_PRICES = (
    "One point for every policy, with the intervals of both estimates; logging is at the origin. A price says how much "
    "of the reward one unit of the other outcome is worth. The dashed line joins what is best at some price, and "
    "mixtures of two neighbours lie on it: nothing here lies beyond."
)
# Of more rows only those of the first tau are shown, so that a page stays small enough to be sent.
MOST_SEGMENT_ROWS = 60
ABOUT_SEGMENTS = (
    "Gains {unit} of the segment. Dashed: no gain; the other two lines: the gains of all traffic. 'drawn' is the "
    "estimate, drawn towards that of all traffic as far as its own error is large. What is called proven holds for all "
    "segments, policies and taus at once."
)


def outcome_sections(evaluation: Evaluation) -> list[Section]:
    """Show guards, trade-offs, segments and further outcomes."""
    others = [_outcome(evaluation.of_outcome(outcome.name)) for outcome in evaluation.outcomes[1:]]
    return [*_guards(evaluation), *_tradeoffs(evaluation), *_segments(evaluation), *others]


def named(evaluation: Evaluation, policy: str, tau: float, between: str = " at tau ") -> str:
    """Name a policy, with its tau where it has several."""
    name = shortened(policy, 30)
    return f"{name}{between}{tau:g}" if sum(e.policy == policy for e in evaluation) > 1 else name


def gain_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return certified and estimated gains to draw, in the colours of better, worse and unproven."""
    rows: list[dict[str, Any]] = []
    amounts = Amounts.of(evaluation)
    for e in evaluation:
        for kind, gain in (("certified", e.gain.certified), ("estimated", e.gain.estimated)):
            if not e.is_logging and gain is not None and gain.lower is not None:
                ends = in_amounts(amounts, gain.difference, gain.lower, gain.upper)
                better = isinstance(gain, CertifiedGain) and proven_better(evaluation.reward, e)
                colour = charts.GOOD if better else charts.PLAIN
                what = named(evaluation, e.policy, e.tau, ", ")
                rows.append({"what": f"{kind}: {what}", **ends, "colour": colour})
    return rows


def in_amounts(amounts: Amounts, value: float | None, lower: float | None, upper: float | None) -> dict[str, Any]:
    """Return a number with its ends to draw, in the units of the tables."""
    numbers = {"value": value, "lower": lower, "upper": upper}
    return {name: None if number is None else amounts.times * number for name, number in numbers.items()}


def keeps_guards(estimate: ValueEstimate) -> bool:
    """Tell whether all guards are proven to hold."""
    return all(guard.status == "holds" for guard in estimate.guards)


def proven_better(reward: Outcome, estimate: ValueEstimate) -> bool:
    """Tell whether a policy is proven to be an improvement, for all policies and taus at once."""
    gain = estimate.gain.certified
    return gain is not None and is_better(reward, gain.joint_lower, gain.joint_upper)


def is_better(outcome: Outcome, lower: float | None, upper: float | None) -> bool:
    """Tell whether a change is an improvement from end to end."""
    end = upper if outcome.minimize else lower
    return end is not None and outcome.sign * end > 0


def _outcome(evaluation: Evaluation) -> Section:
    """Show one further outcome: the changes against logging, and the table."""
    outcome = evaluation.reward
    name = shortened(outcome.name, 30)
    proven: dict[str, list[str]] = {"rise": [], "fall": []}
    for e in evaluation:
        gain = e.gain.certified
        if gain is not None and not e.is_logging:
            proven["rise"] += [shortened(e.policy, 30)] if (gain.joint_lower or 0) > 0 else []
            proven["fall"] += [shortened(e.policy, 30)] if (gain.joint_upper or 0) < 0 else []
    changes = [f"proven to {verb} under {', '.join(dict.fromkeys(names))}" for verb, names in proven.items() if names]
    title = f"{name}: {'; '.join(changes)}" if changes else f"{name}: no change is proven"
    better = "Less of it is better." if outcome.minimize else "More of it is better."
    unit = Amounts.of(evaluation).unit
    texts = [f"{better} Its change against logging, {unit} of all traffic; titles go by joint bounds."]
    known = min((e.known for e in evaluation), default=1.0)
    if known < 1:
        texts.append(
            f"Known in {percent(known)} of events. Estimates are of these; bounds are of all events, with the worst "
            "possible value for what is unknown."
        )
    rows = gain_rows(evaluation)
    chart = charts.effects(rows, x_title=f"change of {name} {unit}", x_format="+.4~g") if rows else None
    return Section(title, texts, chart, [tables.outcome_table(evaluation)], plot="outcomes")


def _guards(evaluation: Evaluation) -> list[Section]:
    table = tables.guards_table(evaluation)
    if table is None:
        return []
    kept = [named(evaluation, e.policy, e.tau) for e in evaluation if e.guards and keeps_guards(e)]
    title = f"All guards are proven to hold for {', '.join(kept)}" if kept else "No policy is proven to keep all guards"
    return [Section(title, [ABOUT_GUARDS], None, [table])]


def _tradeoffs(evaluation: Evaluation) -> list[Section]:
    """Draw the reward against every further outcome."""
    every = prices.tradeoffs(evaluation)
    sections: list[Section] = []
    reward, change = shortened(evaluation.reward.name, 30), "change" if evaluation.reward.minimize else "gain"
    for outcome in evaluation.outcomes[1:]:
        own = [one for one in every if one.outcome == outcome.name]
        if not own:
            continue
        name = shortened(outcome.name, 30)
        best = prices.frontier(own, evaluation.reward, outcome)
        chart = charts.trade_off(
            [_point(evaluation, one) for one in own],
            frontier=[{"gain": gain, "rise": rise} for gain, rise in best],
            x_title=f"change of {name} per {evaluation.per}",
            y_title=f"{change}, {reward} per {evaluation.per}",
        )
        title = f"{reward} against {name}" + (f", {told}" if (told := _told(evaluation, own, outcome)) else "")
        table = tables.tradeoffs_table(evaluation, outcome.name)
        texts = () if sections else [ABOUT_PRICES]
        sections.append(Section(title, texts, chart, [] if table is None else [table], plot="tradeoff"))
    return sections


def _told(evaluation: Evaluation, found: list[prices.Tradeoff], outcome: Outcome) -> str:
    """Say of which policies it is proven that they are worth it; if of none, which better both, as estimated."""
    said = [(one, tables.prices(one.proven_from, one.proven_until, inside=True)) for one in found]
    proven = [f"{named(evaluation, one.policy, one.tau)} {where}" for one, where in said if where]
    if proven:
        return f"proven worth it: {_several(proven, '; ')}"
    sign = evaluation.reward.sign
    free = [one for one in found if sign * one.gain > 0 and outcome.sign * one.rise >= 0]
    names = _several([named(evaluation, one.policy, one.tau) for one in free], ", ")
    return f"both better under {names} (estimated)" if free else ""


def _point(evaluation: Evaluation, one: prices.Tradeoff) -> dict[str, Any]:
    key = one.policy, one.tau
    gain = evaluation[key].gain
    rise = next(e for e in evaluation.others if (e.policy, e.tau) == key and e.outcome == one.outcome).gain
    row: dict[str, Any] = {"policy": named(evaluation, *key), "gain": one.gain, "rise": one.rise}
    for what, own in (("gain", gain), ("rise", rise)):
        part = own.estimated or own.certified
        row |= {f"{what}_lower": part and part.lower, f"{what}_upper": part and part.upper}
    return row


def _segments(evaluation: Evaluation) -> list[Section]:
    """Draw the gains of every policy by segment, at its first tau; the tables have all."""
    gains = segment_gains(evaluation)
    sections: list[Section] = []
    by = " and ".join(shortened(name, 30) for name in evaluation.by)
    amounts = Amounts.of(evaluation)
    x_title = f"gain over logging, {shortened(evaluation.reward.name, 30)} {amounts.unit}"
    for policy in dict.fromkeys(one.estimate.policy for one in gains):
        every = [one for one in gains if one.estimate.policy == policy]
        key = policy, every[0].estimate.tau
        own = [one for one in every if one.estimate.tau == key[1]]
        rows, whole = [row for one in own for row in _segment_rows(one, amounts)], evaluation[key].gain
        wholes = [
            {"kind": kind, "value": amounts.times * gain.difference, "what": f"{kind}, all traffic"}
            for kind, gain in (("certified", whole.certified), ("estimated", whole.estimated))
            if gain is not None and gain.difference is not None
        ]
        chart = charts.by_segment(rows, wholes=wholes, x_title=x_title) if rows else None
        listed = {
            "proven better in": _listed(own, [one.proven for one in own]),
            "proven worse in": _listed(own, [one.worse for one in own]),
            "differs in": _listed(own, [one.differs and not one.worse for one in own]),
        }
        said = "; ".join(f"{word} {names}" for word, names in listed.items() if names)
        title = f"{named(evaluation, *key)} by {by}: {said or 'nothing is proven'}"
        shown = every if len(every) <= MOST_SEGMENT_ROWS else own
        table = tables.segments_table(evaluation, shown)
        texts = [] if sections else [ABOUT_SEGMENTS.format(unit=amounts.unit)]
        texts += [] if shown is every else [f"At tau {key[1]:g}: its other taus are in the JSON."]
        sections.append(Section(title, texts, chart, [] if table is None else [table], plot="segments"))
    return sections


def _segment_rows(one: SegmentGain, amounts: Amounts) -> list[dict[str, Any]]:
    share = one.estimate.share
    name = f"{tables.segment_name(one)} ({percent(share)})"
    about = {"segment": name, "share": share, "proven": tables.proven_words(one)}
    gain = one.estimate.gain
    rows = [
        {**about, "kind": kind, **in_amounts(amounts, part.difference, part.lower, part.upper)}
        for kind, part in (("certified", gain.certified), ("estimated", gain.estimated))
        if part is not None and part.difference is not None
    ]
    return rows if one.drawn is None else [*rows, {**about, "kind": "drawn", "value": amounts.times * one.drawn}]


def _listed(gains: list[SegmentGain], said: list[bool]) -> str:
    if all(said):
        return "all of them"
    return _several([tables.segment_name(one, 20) for one, this in zip(gains, said, strict=True) if this], ", ")


def _several(names: list[str], between: str) -> str:
    return between.join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
