"""The first screen of an evaluation's page: the verdict, the decision table, and a waterfall of what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import percent, quoted, shortened
from warmstart.report import charts
from warmstart.report.outcome_pages import keeps_guards
from warmstart.report.page import Card, Headline, Section
from warmstart.results import Amounts, TextTable, assumptions_table
from warmstart.results import evaluation_tables as tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.results import Assumption, Evaluation, Selection, ValueEstimate

CERTIFIED, LIKELY, ELSEWHERE, OPEN = "certified", "measured, not certified", "a model's guess", "left open"
TOGETHER = "together"
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
        text = _selected(selection)
        shown.append(Card("Selected", text[:1].upper() + text[1:], warning=selection.policy is None, wide=True))
    others = dict.fromkeys(estimate.policy for estimate in evaluation if not estimate.is_logging)
    for name in others:
        if first is None or name != first.policy:
            own = evaluation.verdict_on(evaluation[name])
            good = own.kind == "better" and own.evidence == "certified" and keeps_guards(evaluation[name])
            settle = f" What would settle it: {'; '.join(own.settle)}." if own.settle else ""
            text = f"{own.title}. {own.text}{settle}"
            label = f"{shortened(name, 30)}{MEANINGS.get(name, '')}"
            shown.append(Card(label, text, warning=not good, wide=len(others) == 2))
    return shown


def _selected(selection: Selection) -> str:
    """Say what was selected; how much it gains stands in the verdict, in the same units as the table."""
    chosen = selection.estimate
    if chosen is None:
        return " ".join(selection.notes).removeprefix("SELECTED: ")
    named = ", ".join(" and ".join(map(quoted, segment)) for segment in selection.segments)
    where = f", in {named}" if named else ""
    every = "both" if selection.looks == 2 else f"all {selection.looks}"
    most = f"of {every} looked at, the one certified to improve most on what was shown"
    most = most if selection.looks > 1 else "certified to improve on what was shown"
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
        f"Certified, for the same use, with a confidence of {sure} for all rows together, if the assumptions at the "
        "end hold."
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
    verdict = evaluation.verdict
    if verdict is None or verdict.policy in evaluation.learned_here:
        return []
    estimate = evaluation[verdict.policy, verdict.tau]
    rows, amounts = _steps(evaluation, estimate), Amounts.of(evaluation)
    if not rows:
        return []
    name, reward = shortened(verdict.policy, 30), shortened(evaluation.reward.name, 30)
    shown = f"{amounts.number(evaluation.log.mean_reward)} {amounts.unit}"
    chart = charts.waterfall(rows, x_title=f"change of {reward} {amounts.unit}")
    table = TextTable(
        f"Change of {reward} {amounts.unit}",
        ("part", "from", "to"),
        [(row["what"], *_shown(row)) for row in rows],
        left=1,
    )
    support = estimate.support
    lost = [
        (support.clipped, "shown too rarely"),
        (support.unsupported, "never shown"),
        (support.undecided, "undecided"),
    ]
    shares = ", ".join(f"{percent(share)} {word}" for share, word in lost if share > 0)
    low, high = (amounts.number(end) for end in evaluation.reward_range)
    anything = f"There the reward could be anything from {low} to {high}, so that this bar may leave the picture."
    meanings = {
        CERTIFIED: "Where the log supports the policy: this much is proven.",
        LIKELY: "Also where it is supported: up to what was measured there.",
        ELSEWHERE: "On the rest of the traffic, by a reward model: no bound.",
        TOGETHER: "The change if the policy is used everywhere: all bars above, one after the other.",
        OPEN: f"What this log cannot rule out{f': of the traffic, {shares}. {anything}' if shares else '.'}",
    }
    kinds = {row["kind"] for row in rows}
    explained = [(kind.capitalize(), meaning) for kind, meaning in meanings.items() if kind in kinds]
    whole = ", were it used in all segments," if verdict.segments else ""
    texts = [f"Against what was shown, which got {shown}."]
    return [
        Section(f"Where the change of {name}{whole} comes from", texts, chart, [table], explained, plot="waterfall")
    ]


def _steps(evaluation: Evaluation, estimate: ValueEstimate) -> list[dict[str, Any]]:
    """Return the bars of the waterfall, one after the other, as changes against what was shown."""
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    times, base = Amounts.of(evaluation).times, evaluation.log.mean_reward
    rows: list[dict[str, Any]] = []
    so_far = 0.0

    def bar(what: str, kind: str, start: float, end: float) -> None:
        rows.append({"what": what, "kind": kind, "start": times * start, "end": times * end})

    if certified is not None and certified.difference is not None:
        near = _nearest_to_zero(certified.joint_lower, certified.joint_upper)
        if near:
            bar("proven where supported", CERTIFIED, 0.0, near)
        bar("measured where supported", LIKELY, near, certified.difference)
        so_far = certified.difference
    if estimated is not None:
        bar("guessed elsewhere", ELSEWHERE, so_far, estimated.difference)
        bar("best estimate everywhere", TOGETHER, 0.0, estimated.difference)
    if estimate.certified_lower is not None and estimate.certified_upper is not None and rows:
        bar("left open", OPEN, estimate.certified_lower - base, estimate.certified_upper - base)
    least = 1e-3 * max(abs(row["end"] - row["start"]) for row in rows[:4]) if rows else 0.0
    return [row for row in rows if abs(row["end"] - row["start"]) > least]


def _shown(row: dict[str, Any]) -> tuple[str, str]:
    """Show where a bar begins and ends: what is proven rounded towards zero, what is left open outwards."""
    start, end, kind = row["start"], row["end"], row["kind"]
    per_one = Amounts(1, "event", None)
    if kind == OPEN:
        return per_one.bound(start, 1), per_one.bound(end, -1)

    def shown(place: float, *, proven: bool) -> str:
        return per_one.bound(place, 1 if place > 0 else -1) if proven else per_one.signed_number(place)

    # What was measured begins where the proven ends.
    return shown(start, proven=kind == LIKELY), shown(end, proven=kind == CERTIFIED)


def _nearest_to_zero(lower: float | None, upper: float | None) -> float:
    """Return the end of an interval that is nearest to zero; zero if that is inside."""
    if lower is None or upper is None or lower <= 0 <= upper:
        return 0.0
    return lower if lower > 0 else upper
