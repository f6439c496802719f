"""The first screen of an evaluation's page: the verdict, the decision table, and a waterfall of what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import percent, quoted, shortened
from warmstart.report import charts
from warmstart.report.outcome_pages import keeps_guards, named
from warmstart.report.page import Card, Headline, Section
from warmstart.results import Amounts, TextTable, assumptions_table, change_parts
from warmstart.results import evaluation_tables as tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.results import Assumption, ChangePart, Evaluation, Selection, ValueEstimate

KINDS = {
    "certified": "certified",
    "measured": "measured, not certified",
    "guessed": "a model's guess",
    "together": "together",
    "open": "left open",
}
BARS = {
    "certified": "proven where supported",
    "measured": "measured where supported",
    "guessed": "guessed elsewhere",
    "together": "best estimate everywhere",
    "open": "left open",
}
# What policies are that have no other name.
MEANINGS = {
    "uniform": ": at random among the actions of the context",
    "uniform-all": ": at random among all actions",
}
SUPPORTED = "The share of traffic on which the policy's choice "
COUNTED = (
    "made up at least {tau} of what was shown in the same context. This is the rule to deploy: its choice where that "
    "holds, otherwise what is shown today."
)


def headline(evaluation: Evaluation) -> Headline | None:
    """Return the verdict to read first."""
    verdict = evaluation.verdict
    if verdict is None:
        return None
    _, *texts, _ = evaluation.headline
    kept = keeps_guards(evaluation[verdict.policy, verdict.tau])
    forbidden = verdict.kind in ("better", "same") and not kept
    return Headline(verdict.kind, verdict.evidence, verdict.title, texts, forbidden)


def cards(evaluation: Evaluation, selection: Selection | None) -> list[Card]:
    """Warn, say what was selected, and give the verdict on every other policy at its first tau."""
    shown = []
    first = evaluation.verdict
    learned_here = [name for name in evaluation.learned_here if first is None or name != first.policy]
    if names := ", ".join(shortened(name, 30) for name in learned_here):
        shown.append(Card("Warning", f"{names} learned from these very events: its value is too high.", warning=True))
    if selection is not None:
        text = _selected(selection, {one.policy for one in evaluation if not one.is_logging})
        shown.append(Card("Selected", text[:1].upper() + text[1:], warning=selection.policy is None, wide=True))
    others = dict.fromkeys(estimate.policy for estimate in evaluation if not estimate.is_logging)
    for name in others:
        if first is None or name != first.policy:
            own = evaluation.verdict_on(evaluation[name])
            good = own.kind == "better" and own.evidence == "certified" and keeps_guards(evaluation[name])
            settle = f" What would settle it: {'; '.join(own.settle)}." if own.settle else ""
            text = f"{own.title}. {own.text}{settle}"
            label = f"{named(evaluation, name, own.tau)}{MEANINGS.get(name, '')}"
            shown.append(Card(label, text, warning=not good, wide=len(others) == 2))
    return shown


def _selected(selection: Selection, candidates: set[str]) -> str:
    """Say what was selected; how much it gains stands in the verdict, in the same units as the table."""
    chosen = selection.estimate
    if chosen is None:
        return " ".join(selection.notes).removeprefix("SELECTED: ")
    named = ", ".join(" and ".join(map(quoted, segment)) for segment in selection.segments)
    where = f", in {named}" if named else ""
    every = "both" if len(candidates) == 2 else f"all {len(candidates)}"
    most = f"of {every} policies looked at, the one certified to improve most on what was shown"
    most = most if len(candidates) > 1 else "certified to improve on what was shown"
    kept = ", with all guards kept" if chosen.guards else ""
    return f"{quoted(chosen.policy)} at tau {chosen.tau:g}{where}: {most}{kept}.{selection.reservations}"


def decision_section(evaluation: Evaluation) -> list[Section]:
    """Show the decision table, its columns explained."""
    table = tables.decision_table(evaluation)
    if table is None:
        return []
    sure = f"{100 * (1 - evaluation.first.delta):.6g} %"
    end = "at most" if evaluation.reward.minimize else "at least"
    certified = (
        f"Certified: used so, the change is {end} this, with a confidence of {sure} for all rows together, if the "
        f"assumptions at the end hold. {'Below' if evaluation.reward.minimize else 'Above'} 0, better is proven."
    )
    everywhere = (
        f"If the policy is used on all traffic: an approximate {sure} interval. Where the log does not support the "
        "policy this is a model's guess."
    )
    chosen = evaluation.verdict is not None and evaluation.verdict.segments
    of_all = "On the policy in all segments; above stands that on some of them. " if chosen else ""
    explained = [
        (
            "Where supported",
            "If the policy is used only there, and the rest stays as it was; averaged over all traffic.",
        ),
        (end.capitalize(), certified),
        ("Supported", _supported(evaluation)),
    ]
    if any(estimate.guards for estimate in evaluation):
        explained.append(("Guards kept", "How many limits on outcomes are proven to hold."))
    explained += [
        ("Everywhere", everywhere),
        (
            "Level everywhere",
            "Not a change: what was shown plus the change everywhere.",
        ),
        ("Verdict", f"{of_all}By what is certified, if that decides; otherwise by the change everywhere: no proof."),
    ]
    if "tau" in table.header:
        explained.append(("Tau", "The share of a context that an action must have had to be taken at face value."))
    return [Section("Every policy at a glance", (), None, [table], explained)]


def _supported(evaluation: Evaluation) -> str:
    """Say what the supported share is a share of, as a rule that could be deployed where that is simple."""
    taus = {estimate.tau for estimate in evaluation if not estimate.is_logging}
    tau = percent(taus.pop()) if len(taus) == 1 else "tau"
    if evaluation.propensities.counted and evaluation.propensities.epoch is None:
        return f"{SUPPORTED}{COUNTED.format(tau=tau)}"
    return f"{SUPPORTED}had a propensity of at least {tau}."


def assumptions_section(assumptions: Sequence[Assumption]) -> list[Section]:
    """Show what all of it rests on; the title says if something speaks against it."""
    if not assumptions:
        return []
    broken = [one.code for one in assumptions if one.is_broken]
    title = f"What this rests on: look into {', '.join(broken)}" if broken else "What this rests on"
    return [Section(title, (), None, [assumptions_table(assumptions, full=True)])]


def waterfall_section(evaluation: Evaluation) -> list[Section]:
    """Show what the change of the policy in the verdict is made of."""
    verdict, parts = evaluation.verdict, change_parts(evaluation)
    if verdict is None or not parts:
        return []
    estimate, amounts = evaluation[verdict.policy, verdict.tau], Amounts.of(evaluation)
    name, reward = shortened(verdict.policy, 30), shortened(evaluation.reward.name, 30)
    rows = [
        {"what": BARS[one.kind], "kind": KINDS[one.kind], "start": times * one.start, "end": times * one.end}
        for times, one in ((amounts.times, part) for part in parts)
    ]
    title = f"Change of {reward} {amounts.unit} of all traffic"
    chart = charts.waterfall(rows, x_title=title, good=all(_is_good(evaluation, part) for part in parts))
    table = TextTable(title, ("part", "from", "to"), [(BARS[one.kind], *_shown(one, amounts)) for one in parts], left=1)
    meanings = {
        "certified": "Where the log supports the policy: this much is proven.",
        "measured": "Also where it is supported: up to what was measured there.",
        "guessed": "On the rest of the traffic, by a reward model: no bound.",
        "together": "The change if the policy is used everywhere: all bars above, one after the other.",
        "open": f"What this log cannot rule out if the policy is used everywhere: {_open(evaluation, estimate)}",
    }
    explained = [(KINDS[one.kind].capitalize(), meanings[one.kind]) for one in parts]
    whole = ", were it used in all segments," if verdict.segments else ""
    texts = [f"Against what was shown, which got {amounts.number(evaluation.log.mean_reward)} {amounts.unit}."]
    return [
        Section(f"Where the change of {name}{whole} comes from", texts, chart, [table], explained, plot="waterfall")
    ]


def _is_good(evaluation: Evaluation, part: ChangePart) -> bool:
    """Tell whether a part is none that is proven to be a change for the worse."""
    return part.kind != "certified" or evaluation.reward.sign * part.end > 0


def _open(evaluation: Evaluation, estimate: ValueEstimate) -> str:
    """Say what the range that is left open is made of."""
    support, amounts = estimate.support, Amounts.of(evaluation)
    lost = [(support.clipped, "shown too rarely"), (support.unsupported, "never shown")]
    shares = " and ".join(f"on the {percent(share)} {word}" for share, word in lost if share > 0)
    if not shares:
        return "the certified range."
    low, high = (amounts.number(end) for end in evaluation.reward_range)
    anything = f"{shares}, any reward from {low} to {high} in the place of what was shown"
    return f"the certified range where it is supported and, {anything}. So this bar may leave the picture."


def _shown(part: ChangePart, amounts: Amounts) -> tuple[str, str]:
    """Show where a bar begins and ends: what is proven rounded towards zero, what is left open outwards."""
    if part.kind == "open":
        return amounts.bound(part.start, 1), amounts.bound(part.end, -1)

    def shown(place: float, *, proven: bool) -> str:
        return amounts.bound(place, 1 if place > 0 else -1) if proven else amounts.signed_number(place)

    # What was measured begins where the proven ends.
    return shown(part.start, proven=part.kind == "measured"), shown(part.end, proven=part.kind == "certified")
