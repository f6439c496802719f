"""An evaluation as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core.text import shortened
from warmstart.report import charts
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Page, Section
from warmstart.results.audit_words import percent
from warmstart.results.text_table import TextTable

if TYPE_CHECKING:
    from warmstart.results.contribution import Contribution
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

ESTIMATES = ("Point estimates, unsupported traffic included; their intervals are approximate, and they are no bounds.",)
KINDS = ("supported", "clipped", "unsupported", "undecided")


def evaluation_page(found: Evaluation) -> Page:
    """Say which policy is better than logging, then show on what that rests."""
    tables = found.named_tables()
    sections = [_against(found, tables["against_logging"]), _values(found, tables["values"])]
    if "estimates" in tables:
        sections.append(Section("Best estimates of all traffic", ESTIMATES, None, [tables["estimates"]]))
    sections += [_traffic(found, tables["traffic"]), *_taus(found)]
    if "propensities" in tables:
        sections.append(Section("Weights from another window bend the estimate", (), None, [tables["propensities"]]))
    sections += _contributions(found)
    sections.append(Section("What the numbers are, and what they rest on", found.notes()))
    return Page(
        title="What other policies would have earned",
        source=f"Evaluated: {found.windows.evaluated}",
        cards=[*_warnings(found), *_cards(found)],
        sections=sections,
        glossary=glossary(),
        footer=f"Made by warmstart {found.version}. This page fetches nothing and can be sent as it is.",
    )


def _others(found: Evaluation) -> list[ValueEstimate]:
    return [estimate for estimate in found if not estimate.is_logging]


def _warnings(found: Evaluation) -> list[Card]:
    if not found.learned_here:
        return []
    names = ", ".join(shortened(name, 30) for name in found.learned_here)
    return [Card("Warning", f"{names} learned from these very events: its value is too high.", warning=True)]


def _cards(found: Evaluation) -> list[Card]:
    """One sentence a policy, at the first tau: to take the best of several would flatter it."""
    cards = []
    for name in dict.fromkeys(estimate.policy for estimate in _others(found)):
        first = found[name]
        proven = first.gain.lower is not None and first.gain.lower > 0
        cards.append(Card(shortened(name, 30), _sentence(found, first), warning=not proven))
    return cards


def _sentence(found: Evaluation, estimate: ValueEstimate) -> str:
    s = estimate.gain
    if s.lower is None or s.upper is None or s.difference is None:
        return "The log cannot compare it with logging."
    if s.contested <= 0:
        return "Where the log supports it, it does what logging did: there is nothing to compare."
    lower, upper, gain = s.lower, s.upper, s.difference
    where = f"On the {percent(s.share)} of traffic where the log supports it (tau = {estimate.tau:g})"
    span = f"interval {found.number(lower, signed=True)} to {found.number(upper, signed=True)}"
    if lower > 0:
        return f"{where} it earns {found.number(gain)} more per event than logging ({span})."
    if upper < 0:
        return f"{where} it earns {found.number(-gain)} less per event than logging ({span})."
    return f"{where} it cannot be told from logging: {found.number(gain, signed=True)} per event ({span})."


def _values(found: Evaluation, table: TextTable) -> Section:
    others = _others(found)
    rows = [
        {
            "policy": shortened(e.policy, 30),
            "tau": f"{e.tau:g}",
            **{name: getattr(e, name) for name in ("value", "lower", "upper")},
        }
        for e in others
    ]
    logging = next((e.value for e in found if e.is_logging), None)
    if logging is None:
        logging = next((e.gain.logging for e in found if e.gain.share > 1 - 1e-9), None)
    chart = charts.values_by_tau(rows, logging=logging, y_title="value, reward per event") if rows else None
    texts = [
        (
            "What each policy would have earned per event, counting nothing where the log cannot tell: a policy that "
            "is better where it is supported may still lie below logging here. The end in the title holds for all "
            "policies and taus at once."
        )
    ]
    if chart is not None and logging is not None:
        texts.append("The dashed line is what the logging policy earned.")
    own = found.windows.weights_from == "evaluated"
    certified = [e for e in others or found if own and e.certified_lower is not None]
    title = "What the policies would have earned, without a certified end"
    if certified:
        best = max(certified, key=lambda e: e.joint_lower)
        title = (
            f"{shortened(best.policy, 30)} earns at least {found.number(best.joint_lower)} per event, on all traffic"
        )
        if float(found.number(best.joint_lower)) == found.reward_range[0]:
            title = "The log guarantees nothing for any of them"
    return Section(title, texts, chart, [table])


def _against(found: Evaluation, table: TextTable) -> Section:
    rows: list[dict[str, Any]] = [
        {
            "what": _label(e),
            "value": e.gain.difference,
            "lower": e.gain.lower,
            "upper": e.gain.upper,
            "colour": charts.GOOD if (e.gain.lower or 0.0) > 0 else charts.PLAIN,
        }
        for e in _others(found)
        if e.gain.lower is not None
    ]
    better = dict.fromkeys(shortened(e.policy, 30) for e in _others(found) if (e.gain.lower or 0.0) > 0)
    title = (
        f"Better than logging where supported: {', '.join(better)}" if better else "None is proven better than logging"
    )
    title_x = "gain over logging, reward per event"
    chart = charts.effects(rows, x_title=title_x, x_format="+.4~g") if rows else None
    text = (
        "Policy and logging on the same traffic, where the policy is supported, so that only the choices differ. This "
        "is the number to act on."
    )
    if any(e.gain.guarantee == "approximate" for e in _others(found)):
        text += " The intervals are approximate."
    return Section(title, [text], chart, [table])


def _taus(found: Evaluation) -> list[Section]:
    """Show what every tau would have cost, and which was chosen."""
    chosen = [(shortened(e.policy, 30), e.tau_choice) for e in found if e.tau_choice is not None]
    if not chosen:
        return []
    low, high = found.reward_range
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
    if found.propensities is None or found.propensities.certifies:
        text += (
            " It takes contexts, actions and earlier rewards. The rewards evaluated here had no say, so intervals need "
            "no allowance for the choice."
        )
    chart = charts.errors_by_tau(rows, y_title="expected error, reward per event")
    return [Section(f"tau was chosen: {names}", [text], chart)]


def _traffic(found: Evaluation, table: TextTable) -> Section:
    others = _others(found)
    rows = [
        {"what": _label(e), "kind": kind, "share": getattr(e.support, kind), "place": place}
        for e in others
        for place, kind in enumerate(KINDS)
    ]
    chart = charts.stacked(rows, x_title="share of traffic", order=KINDS) if rows else None
    if not others:
        return Section("The traffic behind it", (), None, [table])
    least, most = min(e.support.supported for e in others), max(e.support.supported for e in others)
    span = percent(least) if percent(least) == percent(most) else f"{percent(least)} to {percent(most)}"
    return Section(f"The log supports {span} of what the policies would do", (), chart, [table])


def _contributions(found: Evaluation) -> list[Section]:
    sections = []
    for name in dict.fromkeys(part.policy for part in found.contributions):
        tables = []
        for kind, title in (("context", "Contexts"), ("action", "Actions")):
            parts = [part for part in found.contributions if part.policy == name and part.kind == kind]
            rows = [_contribution(part) for part in parts]
            header = (kind, "of the value", "of the traffic", "events")
            tables.append(TextTable(f"{title} that contribute most", header, rows, left=1))
        first = next(part for part in found.contributions if part.policy == name)
        title = f"What {shortened(name, 30)} earns, it earns here (tau = {first.tau:g})"
        sections.append(Section(title, (), None, tables))
    return sections


def _contribution(part: Contribution) -> tuple[str, ...]:
    name = ", ".join(shortened(value, 40) for value in part.name)
    return name, percent(part.share), percent(part.traffic), f"{part.events:,}"


def _label(estimate: ValueEstimate) -> str:
    return f"{estimate.tau:g}: {shortened(estimate.policy, 24)}"
