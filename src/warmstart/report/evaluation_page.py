"""An evaluation as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import percent, quoted, shortened
from warmstart.report import charts
from warmstart.report.epoch_pages import by_epoch
from warmstart.report.glossary import glossary
from warmstart.report.outcome_pages import gain_rows, is_better, keeps_guards, named, outcome_sections, selected_card
from warmstart.report.page import Card, Page, Section
from warmstart.results import TextTable, outcome_notes
from warmstart.results import evaluation_tables as tables

if TYPE_CHECKING:
    from warmstart.results import Contribution, Evaluation, Selection, ValueEstimate

KINDS = ("supported", "clipped", "unsupported", "undecided")


def evaluation_page(evaluation: Evaluation, selection: Selection | None = None) -> Page:
    """Say which policy was selected and which are better than logging, then show on what that rests."""
    sections = [_gains(evaluation), *outcome_sections(evaluation), _values(evaluation)]
    if (estimates := tables.estimates_table(evaluation)) is not None:
        text = "Point estimates, unsupported traffic included: no bounds, with approximate confidence intervals."
        sections.append(Section("Best estimates of all traffic", [text], None, [estimates]))
    sections += [_traffic(evaluation), *by_epoch(evaluation), *_taus(evaluation)]
    if (weight_ratio := tables.weight_ratio_table(evaluation)) is not None:
        sections.append(Section("Weights from another window bend the estimate", (), None, [weight_ratio]))
    sections += [*_contributions(evaluation), Section("What the numbers are, and what they rest on", evaluation.notes)]
    return Page(
        title="What other policies would have earned",
        source=f"Evaluated: {evaluation.windows.evaluated}. {_goal(evaluation)}",
        cards=[*([] if selection is None else [selected_card(selection)]), *_cards(evaluation)],
        sections=sections,
        glossary=glossary(),
        footer=f"Made by warmstart {evaluation.version}. This page fetches nothing and can be sent as it is.",
    )


def _goal(evaluation: Evaluation) -> str:
    """Name what policies are judged by."""
    less = ", of which less is better" if evaluation.reward.minimize else ""
    return f"Judged by {shortened(evaluation.reward.name, 60)}{less}."


def _others(evaluation: Evaluation) -> list[ValueEstimate]:
    return [estimate for estimate in evaluation if not estimate.is_logging]


def _cards(evaluation: Evaluation) -> list[Card]:
    """Warn; then one sentence a policy, at the first tau: to take the best of several would flatter it."""
    cards = []
    if names := ", ".join(shortened(name, 30) for name in evaluation.learned_here):
        cards.append(Card("Warning", f"{names} learned from these very events: its value is too high.", warning=True))
    for name in dict.fromkeys(estimate.policy for estimate in _others(evaluation)):
        first = evaluation[name]
        certified = first.gain.certified
        proven = certified is not None and is_better(evaluation.reward, certified.lower, certified.upper)
        told = {"fails": "fails", "cannot-tell": "is not proven"}
        broken = [f" Guard {quoted(one.guard)} {told[one.status]}." for one in first.guards if one.status in told]
        text = _sentence(evaluation, first) + "".join(broken)
        cards.append(Card(shortened(name, 30), text, warning=not proven or not keeps_guards(first)))
    return cards


def _sentence(evaluation: Evaluation, estimate: ValueEstimate) -> str:
    gain, certified = estimate.gain.decisive, estimate.gain.certified
    if gain is None or gain.lower is None or gain.upper is None or gain.difference is None:
        return "The log cannot compare it with logging."
    if certified is not None and certified.contested <= 0:
        return "Where the log supports it, it does what logging did: there is nothing to compare."
    lower, upper = (evaluation.number(end, signed=True) for end in (gain.lower, gain.upper))
    where = f"Used where the log supports it ({percent(estimate.support.supported)} of traffic)"
    kind = "certified"
    if gain is not certified:
        where, kind = "By the best estimate", "approximate"
    span = f"{kind} confidence interval {lower} to {upper}"
    if gain.lower > 0 or gain.upper < 0:
        verb, size = ("costs" if evaluation.reward.minimize else "earns"), evaluation.number(abs(gain.difference))
        more = "more" if gain.lower > 0 else "less"
        return f"{where} it {verb} {size} {more} per {evaluation.per} than logging ({span})."
    return f"{where} it cannot be told from logging: {evaluation.number(gain.difference, signed=True)} ({span})."


def _values(evaluation: Evaluation) -> Section:
    others = _others(evaluation)
    rows = [
        {"policy": shortened(e.policy, 30), "tau": f"{e.tau:g}", "value": e.value, "lower": e.lower, "upper": e.upper}
        for e in others
        if e.value is not None
    ]
    logging = next((e.value for e in evaluation if e.is_logging), None)
    if logging is None:
        whole = (e.gain.certified for e in evaluation if e.support.supported > 1 - 1e-9)
        logging = next((gain.logging for gain in whole if gain is not None), None)
    y_title = f"value, {shortened(evaluation.reward.name, 30)} per {evaluation.per}"
    chart = charts.values_by_tau(rows, logging=logging, y_title=y_title) if rows else None
    text = (
        f"What each policy would have earned per {evaluation.per}, counting nothing where the log cannot tell: a "
        "policy that is better where it is supported may still lie below logging here. The bound in the title holds "
        "for all policies and taus at once."
    )
    if evaluation.reward.minimize:
        text += " What the log does not know of a cost is missing from it, not from the bound."
    line = chart is not None and logging is not None
    texts = [text, "The dashed line is what the logging policy earned."] if line else [text]
    return Section(_bound(evaluation), texts, chart, [tables.values_table(evaluation)])


def _bound(evaluation: Evaluation) -> str:
    """Say what the best policy earns at least, or costs at most."""
    reward = evaluation.reward
    own = [(e, outcome_notes.joint_bound(evaluation, e)) for e in _others(evaluation) or evaluation]
    ends = [(end, e.policy) for e, end in own if end is not None]
    if not evaluation.propensities.certified or not ends:
        return "What the policies would have earned, without a certified end"
    end, name = min(ends) if reward.minimize else max(ends, key=lambda pair: pair[0])
    shown = evaluation.number(end)
    if float(shown) == (reward.high if reward.minimize else reward.low):
        return "The log guarantees nothing for any of them"
    verb = "costs at most" if reward.minimize else "earns at least"
    return f"{shortened(name, 30)} {verb} {shown} per {evaluation.per}, on all traffic"


def _gains(evaluation: Evaluation) -> Section:
    rows, reward = gain_rows(evaluation), evaluation.reward
    gains = [(shortened(e.policy, 30), e.gain.certified) for e in _others(evaluation)]
    better = [name for name, gain in gains if gain is not None and is_better(reward, gain.lower, gain.upper)]
    names = ", ".join(dict.fromkeys(better))
    title = f"Better than logging where supported: {names}" if better else "None is proven better than logging"
    what = "change against logging" if reward.minimize else "gain over logging"
    x_title = f"{what}, {shortened(reward.name, 30)} per {evaluation.per}"
    chart = charts.effects(rows, x_title=x_title, x_format="+.4~g") if rows else None
    text = (
        f"Policy and logging on the same traffic, per {evaluation.per} of all of it. Certified: the policy where the "
        "log supports it, logging elsewhere. Estimated: the best estimate of the policy on all traffic, less logging's "
        "mean; its intervals are approximate."
    )
    table = tables.gain_table(evaluation)
    return Section(title, [text], chart, [] if table is None else [table])


def _taus(evaluation: Evaluation) -> list[Section]:
    """Show what every tau would have cost, and which was chosen."""
    chosen = [(shortened(e.policy, 30), e.tau_choice) for e in evaluation if e.tau_choice is not None]
    if not chosen:
        return []
    low, high = evaluation.reward_range
    rows = [
        {"policy": name, "tau": point.tau, "error": (high - low) * point.error, "chosen": point.tau == choice.tau}
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
    chart = charts.errors_by_tau(rows, y_title="expected error, reward per event")
    return [Section(f"tau was chosen: {names}", [text], chart)]


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
    return Section(f"The log supports {span} of what the policies would do", (), chart, [table])


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
