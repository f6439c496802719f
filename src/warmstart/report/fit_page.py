"""What was learned, as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import percent, shortened
from warmstart.report import charts
from warmstart.report.epoch_pages import FOOTER
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Page, Section
from warmstart.results import Learned, TextTable, about_departure, about_learning, actions_table, taus_table

if TYPE_CHECKING:
    from warmstart.policy import FittedPolicy
    from warmstart.results import Departure

HASHED = (
    "The model is linear in the products of context and action features, which are hashed into buckets: it can say "
    "which columns it knows, not which of their values weigh most. An action's own factor is what its features do not "
    "explain: actual over expected rewards, drawn towards 1 where there are few events."
)
NOT_COUNTED = "Where this policy departs from logging was not counted: a cluster learned it, or an earlier version."
EXPLAINED = (
    ("As logging", "Its choice is the action that was shown most in the context."),
    ("Departs", "Its choice is another one."),
    ("Undecided", "No action is feasible in the context: each was shown too rarely."),
    ("One action", "The log has a single action in the context, so that there is no choice."),
)
KINDS = ("as logging", "departs", "undecided", "one action")


def fit_page(result: Learned | FittedPolicy) -> Page:
    """Say what was learned and where it departs from logging, then how it was chosen and from what."""
    learned = result if isinstance(result, Learned) else result.learned
    departure, window = learned.departure, learned.window
    cards = [
        Card("Learned from", f"{window}: {learned.contexts['known']:,} contexts, {learned.actions['known']:,} actions.")
    ]
    if departure is not None:
        other = f"{percent(departure.departs)} of the traffic, in {departure.contexts:,} contexts"
        cards.append(
            Card("Departs from logging on", f"{other}: there it chooses another action than the one shown most.")
        )
    cards.append(
        Card(
            "Not yet evaluated",
            "Nothing here says what the policy earns. Evaluate it on later events than those it learned from.",
            warning=True,
        )
    )
    sections = [*([Section(NOT_COUNTED)] if departure is None else _departure(learned, departure)), *_tau(learned)]
    sections += [_features(learned), _sources(learned)]
    return Page(
        title="What was learned from this log",
        source=shortened(learned.sources.get("log") or "a table", 120),
        cards=cards,
        sections=sections,
        glossary=glossary(learned.columns),
        footer=FOOTER.format(version=learned.version),
    )


def _departure(learned: Learned, departure: Departure) -> list[Section]:
    one = min(departure.one_action, 1 - departure.departs - departure.undecided)
    shares = (1 - departure.departs - departure.undecided - one, departure.departs, departure.undecided, one)
    rows: list[dict[str, Any]] = [
        {"what": "traffic", "kind": kind, "share": max(share, 0.0), "place": place}
        for place, (kind, share) in enumerate(zip(KINDS, shares, strict=True))
    ]
    table = TextTable(
        "Training traffic",
        ("contexts", "share"),
        [(r["kind"], percent(r["share"])) for r in rows],
        1,
    )
    title = f"It departs from logging on {percent(departure.departs)} of the traffic"
    chart = charts.stacked(rows, x_title="share of the training window's events", order=KINDS)
    sections = [Section(title, about_departure(learned), chart, [table], EXPLAINED)]
    if (changes := actions_table(learned)) is not None:
        points = [
            {
                "what": shortened(one.action, 24),
                "value": one.policy - one.logging,
                "lower": min(one.policy - one.logging, 0.0),
                "upper": max(one.policy - one.logging, 0.0),
                "colour": charts.PLAIN if one.policy >= one.logging else charts.ALERT,
            }
            for one in departure.actions
        ]
        chart = charts.effects(points, x_title="share of the traffic: policy less logging")
        texts = ["How an action's share of the traffic would change if the policy chose in the place of logging."]
        sections.append(Section("Actions that it shows more, and less", texts, chart, [changes]))
    return sections


def _tau(learned: Learned) -> list[Section]:
    table = taus_table(learned)
    if table is None:
        text = f"Importance weights are 1 / max(propensity, {learned.fit_tau:g}). No other fit tau was tried."
        return [Section(f"Fit tau {learned.fit_tau:g}", [text])]
    text = (
        "Importance weights are 1 / max(propensity, fit tau). Policies learned from the first four fifths of the "
        "window were valued on the last fifth, as shares of the reward's range; the largest fit tau whose value is not "
        "clearly beaten was taken."
    )
    return [Section(f"How it was chosen: fit tau {learned.fit_tau:g}", [text], None, [table])]


def _features(learned: Learned) -> Section:
    return Section("What it knows contexts and actions by", [*about_learning(learned)[1:3], HASHED])


def _sources(learned: Learned) -> Section:
    settings = {
        "learned from": learned.learned_from,
        "events": f"{learned.events:,}",
        "cells": f"{learned.cells:,}",
        "learning rate": "-" if learned.rate is None else f"{learned.rate:g}",
        "loss in the first pass": "-" if learned.training_loss is None else f"{learned.training_loss:.5g}",
        "seed": str(learned.seed),
        **{f"table of {name}" if name != "log" else name: source or "-" for name, source in learned.sources.items()},
    }
    table = TextTable("Settings and tables", ("what", "value"), [(k, shortened(v, 60)) for k, v in settings.items()], 2)
    return Section("From what, and with which settings", (), None, [table])
