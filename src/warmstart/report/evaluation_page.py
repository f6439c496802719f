"""An evaluation as a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import percent, shortened
from warmstart.report import charts
from warmstart.report.decision import assumptions_section, cards, decision_section, headline, waterfall_section
from warmstart.report.doubt_pages import doubt_section
from warmstart.report.epoch_pages import by_epoch
from warmstart.report.glossary import glossary
from warmstart.report.outcome_pages import gain_rows, in_amounts, named, outcome_sections, proven_better
from warmstart.report.page import Page, Section, Step
from warmstart.results import Amounts, TextTable
from warmstart.results import evaluation_tables as tables

if TYPE_CHECKING:
    from warmstart.results import Contribution, Evaluation, Selection, ValueEstimate

EXPLORATORY = (
    "Every tau is a look of its own. What is called proven holds for all of them together. The interval of one tau "
    "that is picked here because it looks best does not hold as often as it says."
)
KINDS = ("supported", "clipped", "unsupported", "undecided")


def evaluation_page(evaluation: Evaluation, selection: Selection | None = None) -> Page:
    """Say what to do, then show on what that rests."""
    sections = [*decision_section(evaluation), *waterfall_section(evaluation)]
    gains = [_gains(evaluation)] if _others(evaluation) else []
    sections += [*gains, *doubt_section(evaluation), *outcome_sections(evaluation), _values(evaluation)]
    if (estimates := tables.estimates_table(evaluation)) is not None:
        text = "Point estimates, unsupported traffic included: no bounds, with approximate confidence intervals."
        sections.append(Section("Best estimates of all traffic", [text], None, [estimates]))
    sections += [_traffic(evaluation), *by_epoch(evaluation), *_taus(evaluation)]
    if (weight_ratio := tables.weight_ratio_table(evaluation)) is not None:
        sections.append(Section("Weights from another window bend the clipped value", (), None, [weight_ratio]))
    sections += [*_contributions(evaluation), *assumptions_section(evaluation.assumptions)]
    sections.append(Section("What the numbers are, and what they rest on", evaluation.notes))
    return Page(
        title="What other policies would have earned",
        source=evaluation.headline[-1],
        cards=cards(evaluation, selection),
        sections=sections,
        glossary=glossary(),
        headline=headline(evaluation),
        footer=f"Made by warmstart {evaluation.version}. This page fetches nothing and can be sent as it is.",
    )


def _others(evaluation: Evaluation) -> list[ValueEstimate]:
    return [estimate for estimate in evaluation if not estimate.is_logging]


def _values(evaluation: Evaluation) -> Section:
    others = _others(evaluation)
    amounts = Amounts.of(evaluation)
    rows = [
        {"policy": shortened(e.policy, 30), "tau": f"{e.tau:g}", **in_amounts(amounts, e.value, e.lower, e.upper)}
        for e in others
        if e.value is not None
    ]
    logging = next((e.value for e in evaluation if e.is_logging), None)
    if logging is None:
        whole = (e.gain.certified for e in evaluation if e.support.supported > 1 - 1e-9)
        logging = next((gain.logging for gain in whole if gain is not None), None)
    y_title = f"value, {shortened(evaluation.reward.name, 30)} {amounts.unit}"
    line_at = None if logging is None else amounts.times * logging
    chart = charts.values_by_tau(rows, logging=line_at, y_title=y_title) if rows else None
    text = (
        f"What each policy would have earned {amounts.unit}, counting nothing where the log cannot tell: a "
        "policy that is better where it is supported may still lie below logging here."
    )
    if evaluation.reward.minimize:
        text += " What the log does not know of a cost is missing from it, not from the bound."
    line = chart is not None and logging is not None
    texts = [text, "The dashed line is what the logging policy earned."] if line else [text]
    title = "What is known to be earned, nothing being counted where the log cannot tell"
    return Section(title, texts, chart, [tables.values_table(evaluation)], plot="value")


def _gains(evaluation: Evaluation) -> Section:
    """Show gains over logging; of several taus one at a time, by a slider."""
    reward = evaluation.reward
    better: dict[str, str] = {}
    for e in _others(evaluation):
        if proven_better(reward, e):
            within = " (within the margin)" if evaluation.verdict_on(e).kind == "same" else ""
            better.setdefault(e.policy, shortened(e.policy, 30) + within)
    names = ", ".join(better.values())
    title = f"Proven better than what was shown: {names}" if better else "None is proven better than what was shown"
    what = "change against logging" if reward.minimize else "gain over logging"
    unit = Amounts.of(evaluation).unit
    x_title = f"{what}, {shortened(reward.name, 30)} {unit}"
    text = (
        f"Policy and logging on the same traffic, {unit} of all of it. Certified: the policy where the "
        "log supports it, logging elsewhere. Estimated: the best estimate of the policy on all traffic, less logging's "
        "mean; its intervals are approximate. Each interval is for its row alone; green is proven better for all rows "
        "together, by the wider bounds of the decision table."
    )
    taus = list(dict.fromkeys(e.tau for e in _others(evaluation)))
    # Taus that were chosen one a policy are no choice for the reader.
    several = len(_others(evaluation)) > len({e.policy for e in _others(evaluation)})
    rows = gain_rows(evaluation)
    ends = [end for row in rows for end in (row["lower"], row["upper"])]

    def step(title: str, shown: Evaluation) -> Step:
        own = gain_rows(shown)
        span = ends if several else ()
        chart = charts.effects(own, x_title=x_title, x_format="+.4~g", span=span) if own else None
        table = tables.gain_table(shown)
        return Step(title, (), chart, [] if table is None else [table])

    if not several:
        only = step(title, evaluation)
        return Section(title, [text], only.chart, only.tables, plot="gain")
    steps = [
        step(f"tau = {tau:g}", replace(evaluation, policies=tuple(e for e in evaluation if e.tau == tau)))
        for tau in taus
    ]
    verdict = evaluation.verdict
    start = 0 if verdict is None else taus.index(verdict.tau)
    return Section(title, [text], steps=steps, slider="tau", start=start, exploratory=EXPLORATORY, plot="gain")


def _taus(evaluation: Evaluation) -> list[Section]:
    """Show what every tau would have cost, and which was chosen."""
    chosen = [(shortened(e.policy, 30), e.tau_choice) for e in evaluation if e.tau_choice is not None]
    if not chosen:
        return []
    (low, high), amounts = evaluation.reward_range, Amounts.of(evaluation)
    width = amounts.times * (high - low)
    rows = [
        {"policy": name, "tau": point.tau, "error": width * point.error, "chosen": point.tau == choice.tau}
        for name, choice in chosen
        for point in choice.curve
    ]
    names = ", ".join(f"{choice.tau:g} for {name}" for name, choice in chosen)
    text = (
        "A small tau clips little and weighs a few events heavily; a large one is steady and loses what it clips. The "
        "curve adds both up, as expected error of the value; the dot is the tau in use."
    )
    if evaluation.propensities.counted:
        text += (
            " It takes contexts, actions and earlier rewards. The rewards evaluated here had no say, so intervals need "
            "no allowance for the choice."
        )
    reward = shortened(evaluation.reward.name, 30)
    chart = charts.errors_by_tau(rows, y_title=f"expected error, {reward} {amounts.unit}")
    return [Section(f"tau was chosen: {names}", [text], chart, plot="tau")]


def _traffic(evaluation: Evaluation) -> Section:
    others = _others(evaluation)
    rows = [
        {"what": named(evaluation, e.policy, e.tau), "kind": kind, "share": getattr(e.support, kind), "place": place}
        for e in others
        for place, kind in enumerate(KINDS)
    ]
    chart = charts.stacked(rows, x_title="share of traffic", order=KINDS) if rows else None
    table = tables.traffic_table(evaluation)
    if not others:
        return Section("The traffic behind it", (), None, [table])
    least, most = min(e.support.supported for e in others), max(e.support.supported for e in others)
    span = percent(least) if percent(least) == percent(most) else f"{percent(least)} to {percent(most)}"
    return Section(f"The log supports {span} of what the policies would do", (), chart, [table], plot="support")


def _contributions(evaluation: Evaluation) -> list[Section]:
    sections = []
    for name in dict.fromkeys(part.policy for part in evaluation.contributions):
        parts = [part for part in evaluation.contributions if part.policy == name]
        shown = []
        for kind in ("context", "action"):
            rows = [_contribution(part) for part in parts if part.kind == kind]
            header = (kind, "of the value", "of the traffic", "events")
            shown.append(TextTable(f"{kind.capitalize()}s that contribute most", header, rows, left=1))
        title = f"What {shortened(name, 30)} earns, it earns here (tau = {parts[0].tau:g})"
        sections.append(Section(title, (), None, shown))
    return sections


def _contribution(part: Contribution) -> tuple[str, ...]:
    name = ", ".join(shortened(value, 40) for value in part.name)
    return name, percent(part.share), percent(part.traffic), f"{part.events:,}"
